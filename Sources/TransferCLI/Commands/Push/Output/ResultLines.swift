internal import TransferClient
private import TransferModel

/// Output that reporters share: buffered results on standard output, and messages on standard error. Both take the
/// place of drawn progress.
struct ResultLines {
    private let output: PushOutput
    private var progress: (any PushProgress)?
    private var paused: (any PushProgress)?
    private var printer = LinePrinter()
    private var connection = ConnectionTalk()

    /// - Parameter showsProgress: false for commands without progress, whatever the flags say.
    init(_ output: PushOutput, showsProgress: Bool = true) {
        self.output = output
        progress = showsProgress ? output.progress.makeProgress(output.traffic) : nil
    }

    /// Prints messages about the connection, and draws progress.
    ///
    /// - Parameters:
    ///   - event: the event as one of a push; nil if a push has no such event.
    ///   - isLast: whether no other event is waiting, so that buffered output must be written.
    mutating func update(_ event: PushEvent?, isLast: Bool) {
        switch event {
        case .reconnecting(let reason, let seconds):
            talk(connection.line(reason, after: seconds))
        case .connected: connection.connected()
        // The notice is printed even with `--quiet`.
        case .notice(let sentence): complain(sentence)
        default: break
        }
        // Results are written, in the place of drawn progress, before progress is drawn again.
        if isLast { flush() }
        if let event { progress?.update(event) }
    }

    /// Redraws progress: rate and time left also change without events.
    mutating func refresh() { progress?.refresh() }

    /// Prints a question, and draws nothing until it is answered.
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

    /// Writes buffered results and erases progress, so that other code can print.
    mutating func makeRoom() {
        flush()
        progress?.clear()
    }

    /// Prints a message on standard error, unless `--quiet` is given.
    mutating func talk(_ text: String) {
        if !output.isQuiet { complain(text) }
    }

    mutating func complain(_ text: String) {
        makeRoom()
        StandardStream.error.write(output.progress == .json ? JSONProgress.message(text) : "\(text)\n")
    }

    /// Ends the display of progress. If the command failed, prints why.
    ///
    /// - Parameter work: the work done so far, for the message after an interruption.
    /// - Returns: whether some results could not be written.
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

    /// Writes the list of failures, and reports where it is.
    ///
    /// - Returns: whether the list could not be written.
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
