internal import TransferClient
private import TransferModel
private import TransferSystem

/// Turns the events of a sync into what people and scripts read: changes on standard output, talk on standard error.
actor SyncReporter: Asker {
    private let output: PushOutput
    private let words: SyncWords
    private let isDryRun: Bool
    private let started = monotonicNanoseconds()
    private var progress: (any PushProgress)?
    private var paused: (any PushProgress)?
    private var printer = LinePrinter()
    private var summary: SyncSummary?
    private var isConnected = false

    init(_ output: PushOutput, _ words: SyncWords, isDryRun: Bool) {
        (self.output, self.words, self.isDryRun) = (output, words, isDryRun)
        progress = isDryRun ? nil : output.progress.makeProgress()
    }

    /// - Parameter isLast: whether no other event waits, so that what was collected has to be written.
    func show(_ event: SyncEvent, isLast: Bool) {
        switch event {
        case .finished(let change): show(change)
        case .ended(let summary): self.summary = summary
        case .connected: isConnected = true
        case .notice(let sentence): complain(sentence)
        case .reconnecting(let reason, let seconds):
            let what = isConnected ? "connection lost" : "not let in"
            talk("\(what): \(reason.escapedForDisplay); trying again \(DurationFormat.after(seconds))")
        case .planned, .progress: break
        }
        if isLast { flush() }
        if let event = event.asPush { progress?.update(event) }
    }

    /// Draws progress anew: rate and time left change also when nothing happens.
    func refresh() { progress?.refresh() }

    func ask(_ question: String) {
        flush()
        progress?.clear()
        (paused, progress) = (progress, nil)
        StandardStream.error.write(question)
    }

    func answered() { (progress, paused) = (paused, nil) }

    /// Prints the summary.
    ///
    /// - Parameter failure: what ended it early.
    func finish(_ failure: PushFailure?) -> ExitCode {
        progress?.finish()
        progress = nil
        let seconds = Double(monotonicNanoseconds() - started) / 1e9
        if let summary, output.isJSON { print(summary.json(isDryRun: isDryRun, seconds: seconds).text) }
        let isOutputLost = printer.finish() != .success
        if let failure { complain("transfer: \(failure.message.escapedForDisplay)") }
        guard let summary else { return failure?.reason.exitCode ?? .uploadsFailed }
        if let reason = summary.deletionStop { complain("transfer: Nothing was deleted: \(reason).") }
        talk(
            (isDryRun && words == .doing ? "Nothing was changed. It would be: " : "")
                + summary.line(words, seconds: seconds))
        return isOutputLost || !isGood(summary) ? .uploadsFailed : .success
    }

    /// A check is about whether there is a difference.
    private func isGood(_ summary: SyncSummary) -> Bool {
        switch words {
        case .doing: summary.failed == 0 && summary.deletionStop == nil
        case .comparing: summary.isUnchanged
        }
    }

    private func show(_ change: SyncChange) {
        if output.isJSON {
            print(change.json(isDryRun: isDryRun).text)
        } else if !change.isDone {
            if change.action != .skipped || !output.isQuiet { complain(change.line(words)) }
        } else if !output.isQuiet {
            print(change.line(words))
        }
    }

    private func print(_ line: String) {
        printer.add(line)
        if printer.isFull { flush() }
    }

    /// Writes the lines that wait, in the place of progress.
    private func flush() {
        guard !printer.isEmpty else { return }
        progress?.clear()
        printer.flush()
    }

    private func talk(_ text: String) {
        if !output.isQuiet { complain(text) }
    }

    private func complain(_ text: String) {
        flush()
        progress?.clear()
        StandardStream.error.write(output.progress == .json ? JSONProgress.message(text) : "\(text)\n")
    }
}
