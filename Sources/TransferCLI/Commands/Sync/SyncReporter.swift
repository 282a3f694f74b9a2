internal import TransferClient
private import TransferModel
private import TransferSystem

/// Prints the events of a sync: changes on standard output, messages on standard error.
actor SyncReporter: Asker {
    private let output: PushOutput
    private let words: SyncWords
    private let isDryRun: Bool
    private let server: String
    private let started = monotonicNanoseconds()
    private var lines: ResultLines
    private var summary: SyncSummary?
    private var work: StoppedWork

    /// - Parameters:
    ///   - isPush: whether the server is the target.
    ///   - server: the server's name in commands.
    init(_ output: PushOutput, _ words: SyncWords, isPush: Bool, isDryRun: Bool, server: String) {
        self.server = server
        (self.output, self.words, self.isDryRun) = (output, words, isDryRun)
        work = StoppedWork(words == .doing ? "sync" : "check")
        (work.isPreview, work.done) = (isDryRun, isPush ? "acknowledged" : "here")
        lines = ResultLines(output, showsProgress: !isDryRun)
    }

    /// - Parameter isLast: whether no other event is waiting, so that buffered output must be written.
    func show(_ event: SyncEvent, isLast: Bool) {
        switch event {
        case .finished(let change): show(change)
        case .ended(let summary): self.summary = summary
        case .connected, .notice, .reconnecting, .planned, .progress: break
        }
        lines.update(event.asPush, isLast: isLast)
    }

    /// Redraws progress: rate and time left also change without events.
    func refresh() { lines.refresh() }

    func ask(_ question: String) { lines.ask(question) }

    func answered() { lines.answered() }

    /// Prints the summary.
    ///
    /// - Parameter failure: the failure that ended the sync early; nil otherwise.
    func finish(_ failure: TransferFailure?) -> ExitCode {
        let seconds = Double(monotonicNanoseconds() - started) / 1e9
        if let summary, output.isJSON { lines.print(summary.json(isDryRun: isDryRun, seconds: seconds).text) }
        let isOutputLost = lines.finish(failure, work)
        guard let summary else { return failure?.reason.exitCode ?? .uploadsFailed }
        if let reason = summary.deletionStop { lines.complain("transfer: Nothing was deleted: \(reason).") }
        lines.talk(
            (isDryRun && words == .doing ? "Dry run: " : "")
                + summary.line(words, seconds: seconds))
        if let undo = TrashUndo(summary.trash, server: server)?.line { lines.talk(undo) }
        return isOutputLost || !isGood(summary) ? .uploadsFailed : .success
    }

    /// Whether the exit code is 0: a check fails if there are differences.
    private func isGood(_ summary: SyncSummary) -> Bool {
        switch words {
        case .doing: summary.failed + summary.conflicts == 0 && summary.deletionStop == nil
        case .comparing: summary.isUnchanged
        }
    }

    private func show(_ change: SyncChange) {
        // After an interruption, cancelled changes are not printed.
        guard change.result != .cancelled || !Interruption.hasCome else { return }
        count(change)
        if output.isJSON {
            lines.print(change.json(isDryRun: isDryRun).text)
        } else if !change.isDone {
            if change.action != .skipped || !output.isQuiet { lines.complain(change.line(words)) }
        } else if !output.isQuiet {
            lines.print(change.line(words))
        }
    }

    private func count(_ change: SyncChange) {
        guard change.isDone else { return }
        switch change.action {
        case .kept: break
        case .new, .changed: (work.files, work.bytes) = (work.files + 1, work.bytes.addingClamped(change.size))
        default: work.others += 1
        }
    }
}
