internal import TransferClient
private import TransferModel
private import TransferSystem

/// Prints the events of a pull: results on standard output, messages on standard error.
actor PullReporter: Asker {
    private let output: PushOutput
    private let failedList: FailedList?
    private var lines: ResultLines
    private var tally: PullTally

    /// - Parameters:
    ///   - failedList: the list of failures; nil without `--failed-to`.
    ///   - isPreview: whether this is a dry run.
    init(_ output: PushOutput, failedList: FailedList? = nil, isPreview: Bool = false) {
        (self.output, self.failedList) = (output, failedList)
        tally = PullTally(isPreview: isPreview)
        lines = ResultLines(output)
    }

    /// - Parameter isLast: whether no other event is waiting, so that buffered output must be written.
    func show(_ event: PullEvent, isLast: Bool) {
        switch event {
        case .finished(let report): show(report)
        case .known(let folder): show(folder)
        case .planned(let download): show(download)
        case .connected, .reconnecting, .counted, .progress: break
        }
        lines.update(event.asPush, isLast: isLast)
    }

    /// Reports listed paths that cannot be requested.
    func show(unusable paths: [[UInt8]]) {
        for path in paths {
            failedList?.append(path)
            show(.unusable(path), isListed: true)
        }
    }

    /// Adds downloads without a result to the list of failures, because the pull ended early.
    func list(rest: [PullRemainder]) {
        for left in rest { keep(left.source, to: left.target, isPattern: left.isPattern) }
    }

    func refresh() { lines.refresh() }

    func ask(_ question: String) { lines.ask(question) }

    func answered() { lines.answered() }

    /// Prints the summary.
    ///
    /// - Parameter failure: the failure that ended the pull early; nil otherwise.
    func finish(_ failure: TransferFailure?) -> ExitCode {
        tally.isOutputLost = lines.finish(failure, tally.work)
        if failure?.reason == .cancelled, Interruption.hasCome {
            // After an interruption, `lines.finish` has already printed the one line.
        } else if !tally.isEmpty {
            lines.talk(tally.summary(output.traffic))
        } else if failure == nil {
            lines.talk("no files to pull")
        }
        let isFailedListLost = lines.finish(failedList)
        let code = failure?.reason.exitCode ?? tally.results.exitCode
        return isFailedListLost ? .uploadsFailed : code
    }

    /// Reports that the list of `--failed-to` cannot contain the file name that `-o` gives.
    func refuseName() -> ExitCode {
        lines.complain(
            "transfer: --failed-to cannot record the file name of -o; append a slash to make it a directory"
        )
        return .usage
    }

    private func keep(_ source: String, to target: String?, isPattern: Bool) {
        guard let failedList else { return }
        guard !isPattern else {
            return lines.talk("'\(source.escapedForDisplay)' is a pattern and cannot be listed; give it again")
        }
        failedList.settle(source, to: target, hasFailed: true)
    }

    private func show(_ report: PullReport, isListed: Bool = false) {
        tally.add(report)
        if report.result.isSuccess {
            failedList?.settle(report.source, to: report.target, hasFailed: false)
        } else if !isListed {
            keep(report.source, to: report.target, isPattern: report.isPattern)
        }
        // A dry run prints only failures and planned downloads.
        guard !tally.isPreview || !report.result.isSuccess else { return }
        if output.isJSON, !tally.isPreview {
            lines.print(report.json.text)
        } else if !report.result.isSuccess {
            lines.complain(report.line(colours: output.hasColours(.error)))
        } else if !output.isQuiet, report.form != .folder || report.result != .alreadyStored || report.hasNewAttributes
        {
            lines.print(report.line(colours: output.hasColours(.output), columns: Terminal.columns(of: .output)))
        }
    }

    private func show(_ folder: KnownFolder) {
        tally.add(folder)
        if !output.isQuiet { lines.print(folder.line(colours: output.hasColours(.output))) }
    }

    private func show(_ download: PlannedDownload) {
        tally.add(download)
        lines.print(output.isJSON ? download.json.text : download.line)
    }
}
