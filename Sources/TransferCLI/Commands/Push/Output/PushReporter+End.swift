internal import TransferClient
private import TransferModel
private import TransferSystem

/// Messages at the end of a push.
extension PushReporter {
    /// Prints the summary.
    ///
    /// - Parameters:
    ///   - failure: the failure that ended the push early; nil otherwise.
    ///   - stopsAtFailure: whether the push stops at the first failure.
    func finish(_ failure: TransferFailure?, stopsAtFailure: Bool = false) -> ExitCode {
        progress?.finish()
        progress = nil
        let failure = failure.map { StoppedWork("push").named($0) }
        if let failure {
            if output.isJSON { print(FailureDocument.json(failure).text + "\n", to: .output) }
            complain(sentence(failure, stopsAtFailure))
        }
        if failure?.reason == .cancelled, isStopped {
            // After an interruption, one line has already been printed.
        } else if !tally.isEmpty {
            talk(tally.summary(output.traffic))
            for line in tally.repeatedFailures { talk(line) }
            if let undo = server.flatMap({ tally.undo(from: $0) }) { talk(undo) }
        } else if failure == nil {
            talk("no files to push")
        }
        if canGoOn, let hint = failure?.remedy?.line() { talk(hint) }
        let isFailedListLost = losesFailedList()
        if let receipts, let loss = receipts.close() {
            let path = receipts.path.escapedForDisplay
            complain(
                "cannot write the receipts to '\(path)': \(loss.reason). What is stored stays stored; "
                    + "make room and push again for new receipts.")
            return .uploadsFailed
        }
        if let lostOutput { complain("cannot write the results to standard output: \(lostOutput.reason)") }
        return lostOutput == nil && !isFailedListLost ? tally.exitCode(failure) : .uploadsFailed
    }

    /// The message for a failure; after an interruption, it says what was done.
    private func sentence(_ failure: TransferFailure, _ stopsAtFailure: Bool) -> String {
        guard failure.reason == .cancelled else { return failure.message.escapedForDisplay }
        var work = StoppedWork("push")
        (work.done, work.canGoOn) = ("acknowledged", canGoOn)
        (work.files, work.bytes) = (tally.acknowledged, tally.acknowledgedBytes)
        let start = stopsAtFailure && hasFailures ? "The push was stopped at the first failure." : failure.message
        let others = work.files == 0 ? "" : " of others"
        let rest = kept.map { ", and what has arrived\(others) is kept for \(DurationFormat.words($0))" } ?? ""
        return work.line(start, rest: rest)
    }

    /// - Returns: whether the list of failures could not be written.
    private func losesFailedList() -> Bool {
        switch failedList?.close() {
        case .lost(let text):
            complain(text)
            return true
        case .written(let text): talk(text)
        case .empty, nil: break
        }
        return false
    }

    private func complain(_ text: String) {
        print("transfer: \(text)\n", to: .error)
    }
}
