internal import TransferClient
private import TransferModel

/// What reporters print: results on standard output, many in one write, and talk on standard error, both in the place of progress.
struct ResultLines {
    private let output: PushOutput
    private var progress: (any PushProgress)?
    private var paused: (any PushProgress)?
    private var printer = LinePrinter()
    private var connection = ConnectionTalk()

    /// - Parameter showsProgress: whether there is any, where that is wanted.
    init(_ output: PushOutput, showsProgress: Bool = true) {
        self.output = output
        progress = showsProgress ? output.progress.makeProgress(output.traffic) : nil
    }

    /// Tells of the connection, and draws how far things are.
    ///
    /// - Parameters:
    ///   - event: as it would be of a push; nothing of what says nothing of that.
    ///   - isLast: whether no other event waits, so that what was collected has to be written.
    mutating func update(_ event: PushEvent?, isLast: Bool) {
        switch event {
        case .reconnecting(let reason, let seconds):
            talk(connection.line(reason, after: seconds))
        case .connected: connection.connected()
        // Also where little is said.
        case .notice(let sentence): complain(sentence)
        default: break
        }
        // Before progress is drawn: the lines go where it stands.
        if isLast { flush() }
        if let event { progress?.update(event) }
    }

    /// Draws progress anew: rate and time left change also when nothing happens.
    mutating func refresh() { progress?.refresh() }

    /// Puts a question; nothing is drawn before it is answered.
    mutating func ask(_ question: String) {
        makeRoom()
        (paused, progress) = (progress, nil)
        StandardStream.error.write(question)
    }

    mutating func answered() { (progress, paused) = (paused, nil) }

    mutating func print(_ line: String) {
        printer.add(line)
        if printer.isFull { flush() }
    }

    /// Writes what waits, and takes progress away, for somebody else to print something.
    mutating func makeRoom() {
        flush()
        progress?.clear()
    }

    /// Says something, unless little is to be said.
    mutating func talk(_ text: String) {
        if !output.isQuiet { complain(text) }
    }

    mutating func complain(_ text: String) {
        makeRoom()
        StandardStream.error.write(output.progress == .json ? JSONProgress.message(text) : "\(text)\n")
    }

    /// Ends progress, and says why the command has ended, where it could not do its work.
    ///
    /// - Parameter work: what a signal may have stopped.
    /// - Returns: whether results could not be written.
    mutating func finish(_ failure: TransferFailure?, _ work: StoppedWork) -> Bool {
        progress?.finish()
        progress = nil
        let failure = failure.map(work.named)
        if let failure, output.isJSON { print(FailureDocument.json(failure).text) }
        let isLost = printer.finish() != .success
        if let failure {
            complain(
                "transfer: " + (failure.reason == .cancelled ? work.line() : failure.message.escapedForDisplay))
        }
        return isLost
    }

    /// Says what became of a list of failures.
    ///
    /// - Returns: whether it could not be written.
    mutating func finish(_ list: FailedList?) -> Bool {
        switch list?.close() {
        case .lost(let text):
            complain("transfer: \(text)")
            return true
        case .written(let text): talk(text)
        case .empty, nil: break
        }
        return false
    }

    private mutating func flush() {
        guard !printer.isEmpty else { return }
        progress?.clear()
        printer.flush()
    }
}
