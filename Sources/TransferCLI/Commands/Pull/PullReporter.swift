internal import TransferClient
private import TransferModel
private import TransferSystem

/// Turns the events of a pull into what people and scripts read: results on standard output, talk on standard error.
actor PullReporter: Asker {
    private let output: PushOutput
    private let failedList: FailedList?
    private var progress: PullProgress?
    private var paused: PullProgress?
    private var printer = LinePrinter()
    private var tally: PullTally
    private var isConnected = false

    /// - Parameters:
    ///   - failedList: where to keep what fails.
    ///   - isPreview: whether nothing is fetched, and only said what would be.
    init(_ output: PushOutput, failedList: FailedList? = nil, isPreview: Bool = false) {
        (self.output, self.failedList) = (output, failedList)
        tally = PullTally(isPreview: isPreview)
        progress = PullProgress(output.progress)
    }

    /// - Parameter isLast: whether no other event waits, so that what was collected has to be written.
    func show(_ event: PullEvent, isLast: Bool) {
        switch event {
        case .finished(let report): show(report)
        case .known(let folder): show(folder)
        case .planned(let download): show(download)
        case .reconnecting(let reason, let seconds):
            let what = isConnected ? "connection lost" : "not connected"
            talk("\(what): \(reason.escapedForDisplay); trying again \(DurationFormat.after(seconds))")
        case .connected: isConnected = true
        case .counted, .progress: break
        }
        // Before progress is drawn: the lines go where it stands.
        if isLast { flush() }
        progress?.update(event)
    }

    /// Shows the paths of a list that cannot be asked for.
    func show(unusable paths: [[UInt8]]) {
        for path in paths {
            failedList?.append(path)
            show(.unusable(path), isListed: true)
        }
    }

    /// Lists what has no result, because the pull ended before, with what failed.
    func list(rest: [PullRemainder]) {
        for left in rest { keep(left.source, to: left.target, isPattern: left.isPattern) }
    }

    /// Draws progress anew: rate and time left change also when nothing happens.
    func refresh() {
        progress?.refresh()
    }

    func ask(_ question: String) {
        flush()
        progress?.clear()
        paused = progress
        progress = nil
        StandardStream.error.write(question)
    }

    func answered() {
        progress = paused
        paused = nil
    }

    /// Prints the summary.
    ///
    /// - Parameter failure: what ended the pull early.
    func finish(_ failure: PushFailure?) -> ExitCode {
        progress?.finish()
        progress = nil
        tally.isOutputLost = printer.finish() != .success
        if let failure {
            if output.isJSON { StandardStream.output.write(FailureDocument.json(failure).text + "\n") }
            complain("transfer: \(failure.message.escapedForDisplay)")
        }
        if !tally.isEmpty {
            talk(tally.summary)
        } else if failure == nil {
            talk("there was no file to pull")
        }
        let isFailedListLost = losesFailedList()
        let code = failure?.reason.exitCode ?? tally.results.exitCode
        return isFailedListLost ? .uploadsFailed : code
    }

    /// Says that what fails could not be listed with the name that it was to have here.
    func refuseName() -> ExitCode {
        complain(
            "transfer: --failed-to cannot keep the name that -o gives a file; put a slash behind it to make it a directory"
        )
        return .usage
    }

    /// - Returns: whether it could not be written.
    private func losesFailedList() -> Bool {
        guard let failedList else { return false }
        let path = failedList.path.escapedForDisplay
        do throws(SystemError) {
            try failedList.write()
        } catch {
            complain("transfer: cannot write what failed to '\(path)': \(error.reason)")
            return true
        }
        if !failedList.isEmpty { talk("what failed is listed in '\(path)'") }
        return false
    }

    private func keep(_ source: String, to target: String?, isPattern: Bool) {
        guard let failedList else { return }
        guard !isPattern else {
            return talk("'\(source.escapedForDisplay)' is a pattern, which no list can have; name it again")
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
        // What would not be fetched is no news.
        guard !tally.isPreview || !report.result.isSuccess else { return }
        if output.isJSON, !tally.isPreview {
            print(report.json.text)
        } else if !report.result.isSuccess {
            complain(report.line(colours: output.hasColours(.error)))
        } else if !output.isQuiet {
            print(report.line(colours: output.hasColours(.output), columns: Terminal.columns(of: .output)))
        }
    }

    private func show(_ folder: KnownFolder) {
        tally.add(folder)
        if !output.isQuiet { print(folder.line(colours: output.hasColours(.output))) }
    }

    private func show(_ download: PlannedDownload) {
        tally.add(download)
        print(output.isJSON ? download.json.text : download.line)
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
