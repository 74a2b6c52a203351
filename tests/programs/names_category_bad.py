"""Classify names with a character RNN -- after the well known tutorial, with a GPU."""
import random
import string
import torch
import torch.nn as nn

all_letters = string.ascii_letters + " .,;'"
n_letters = len(all_letters)
category_lines = {"Italian": ["Rossi", "Bianchi", "Verdi"], "Scottish": ["Smith", "Brown", "Reid"], "Czech": ["Novak", "Svoboda"]}
all_categories = list(category_lines)
use_gpu = torch.cuda.is_available()


def letter_to_index(letter):
    return all_letters.find(letter)


def line_to_tensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for li, letter in enumerate(line):
        tensor[li][0][letter_to_index(letter)] = 1
    return tensor


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = self.i2h(combined)
        output = self.softmax(self.i2o(combined))
        return output, hidden

    def init_hidden(self):
        h = torch.zeros(1, self.hidden_size)
        return h.cuda() if use_gpu else h


rnn = RNN(n_letters, 12, len(all_categories))
criterion = nn.NLLLoss()
if use_gpu:
    rnn.cuda()
    criterion.cuda()


def random_training_example():
    category = random.choice(all_categories)
    line = random.choice(category_lines[category])
    category_tensor = torch.LongTensor([all_categories.index(category)])  # CAUSE
    line_tensor = line_to_tensor(line)
    if use_gpu:
        line_tensor = line_tensor.cuda()
    return category, line, category_tensor, line_tensor


def train(category_tensor, line_tensor, learning_rate=0.005):
    hidden = rnn.init_hidden()
    rnn.zero_grad()
    for i in range(line_tensor.size()[0]):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)  # FAIL
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-learning_rate)
    return output, loss.item()


def category_from_output(output):
    top_n, top_i = output.data.topk(1)
    category_i = top_i[0][0].item()
    return all_categories[category_i], category_i


current_loss = 0
for it in range(1, 8):
    category, line, category_tensor, line_tensor = random_training_example()
    output, loss = train(category_tensor, line_tensor)
    current_loss += loss
    guess, _ = category_from_output(output)
    print(it, line, guess, "ok" if guess == category else "no (%s)" % category)


def evaluate(line):
    with torch.no_grad():
        hidden = rnn.init_hidden()
        x = line_to_tensor(line).cuda() if use_gpu else line_to_tensor(line)
        for i in range(x.size(0)):
            output, hidden = rnn(x[i], hidden)
    return category_from_output(output)[0]


print(evaluate("Dovesky"))
