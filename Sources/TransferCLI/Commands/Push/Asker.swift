/// Puts a question to whoever sits at the terminal.
protocol Asker: Sendable {
    /// Nothing else is drawn before it is answered.
    func ask(_ question: String) async

    /// The question was answered.
    func answered() async
}

/// Where nothing is drawn that a question could come into.
struct PlainAsker: Asker {
    func ask(_ question: String) async { StandardStream.error.write(question) }

    func answered() async {}
}
