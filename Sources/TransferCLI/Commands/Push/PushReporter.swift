import TransferClient
private import TransferModel
private import TransferSystem

/// Turns the events of a push into what people and scripts read: results on standard output, talk on standard error.
actor PushReporter {
    private let output: PushOutput
    private var progress: (any PushProgress)?
    private var pausedProgress: (any PushProgress)?
    private var tally = PushTally()
    private var lostOutput: SystemError?
    private var isConnected = false
    private let canGoOn: Bool
    private let receipts: ReceiptFile?
    private let failedList: FailedList?

    /// Whether anything has failed.
    var hasFailures: Bool { tally.failures > 0 }

    /// - Parameters:
    ///   - canGoOn: whether the same command would go on with what is not acknowledged: nobody can read a stream twice.
    ///   - receipts: where to keep those that come with the reports.
    ///   - failedList: where to keep what fails.
    init(
        _ output: PushOutput, canGoOn: Bool, receipts: ReceiptFile? = nil,
        failedList: FailedList? = nil
    ) {
        self.output = output
        self.canGoOn = canGoOn
        self.receipts = receipts
        self.failedList = failedList
        progress = output.progress.makeProgress()
    }

    /// - Parameters:
    ///   - isLast: whether no other event waits, so that what was collected has to be written.
    ///   - removal: what became of the source of an upload that ended.
    func show(_ event: PushEvent, isLast: Bool, _ removal: SourceRemoval? = nil) {
        defer { if isLast { receipts?.flush() } }
        switch event {
        case .finished(let report): show(report, removal)
        case .known(let folder): show(folder)
        case .reconnecting(let reason, let seconds):
            let what = isConnected ? "connection lost" : "not let in"
            talk("\(what): \(reason.escapedForDisplay); trying again \(DurationFormat.after(seconds))")
        case .connected: isConnected = true
        // Also where little is said: whoever never sees it trusts anybody.
        case .notice(let sentence): print("\(sentence)\n", to: .error)
        case .counted, .progress: break
        }
        progress?.update(event)
    }

    /// Keeps the receipt of an upload whose source is about to go.
    ///
    /// - Returns: whether it is written.
    func keep(_ report: UploadReport) -> Bool {
        guard let receipts, let receipt = report.receipt else { return false }
        receipts.append(receipt)
        receipts.flush()
        return receipts.isWell
    }

    /// Shows the paths of a list that nothing can be opened by.
    func show(unusable paths: [[UInt8]]) {
        for path in paths {
            failedList?.append(path)
            show(.unusable(path), nil)
        }
    }

    /// Lists what has no result, because the push ended before, with what failed.
    func list(rest plan: UploadPlan) {
        failedList?.append(rest: plan)
    }

    /// Draws progress anew: rate and time left change also when nothing happens.
    func refresh() {
        progress?.refresh()
    }

    /// Puts a question; nothing is drawn before it is answered.
    func ask(_ question: String) {
        progress?.clear()
        pausedProgress = progress
        progress = nil
        StandardStream.error.write(question)
    }

    /// The question was answered.
    func answered() {
        progress = pausedProgress
        pausedProgress = nil
    }

    private func show(_ report: UploadReport, _ removal: SourceRemoval?) {
        // That of a source that was to be removed is kept already.
        if removal == nil, let receipt = report.receipt { receipts?.append(receipt) }
        let hasFailed = tally.add(report, removal)
        failedList?.settle(report, hasFailed: hasFailed)
        // Kept before it is shown: who reads of an upload finds its receipt.
        if output.isJSON || !output.isQuiet || !report.result.isSuccess { receipts?.flush() }
        var report = report
        report.storedPath = report.storedPath.map(output.shown)
        if output.isJSON {
            print(report.json(removal).text + "\n", to: .output)
        } else if !report.result.isSuccess {
            print("\(report.line(colours: output.hasColours(.error)))\n", to: .error)
        } else if !output.isQuiet {
            print(
                "\(report.line(colours: output.hasColours(.output), columns: Terminal.columns(of: .output)))\n",
                to: .output)
        }
        if case .kept(let reason) = removal {
            print("not removed  \(report.source.escapedForDisplay): \(reason.escapedForDisplay)\n", to: .error)
        }
    }

    private func show(_ folder: KnownFolder) {
        tally.add(folder)
        guard !output.isQuiet else { return }
        var folder = folder
        folder.storedPath = output.shown(folder.storedPath)
        print("\(folder.line(colours: output.hasColours(.output)))\n", to: .output)
    }

    private func talk(_ text: String) {
        guard !output.isQuiet else { return }
        print("\(text)\n", to: .error)
    }

    /// - Parameter text: with the end of its line.
    private func print(_ text: String, to stream: StandardStream) {
        progress?.clear()
        let isMessage = stream == .error && output.progress == .json
        let loss = stream.write(isMessage ? JSONProgress.message(text) : text)
        if stream == .output { lostOutput = lostOutput ?? loss }
    }
}

// MARK: The end

extension PushReporter {
    /// Prints the summary.
    ///
    /// - Parameters:
    ///   - failure: what ended the push early.
    ///   - stopsAtFailure: whether that was the first failure.
    func finish(_ failure: PushFailure?, stopsAtFailure: Bool = false) -> ExitCode {
        progress?.finish()
        progress = nil
        if let failure { complain(sentence(failure, stopsAtFailure)) }
        if !tally.isEmpty {
            talk(tally.summary)
            for line in tally.repeatedFailures { talk(line) }
        } else if failure == nil {
            talk("there was no file to push")
        }
        let isFailedListLost = losesFailedList()
        if let receipts, let loss = receipts.close() {
            let path = receipts.path.escapedForDisplay
            complain(
                "cannot keep the receipts in '\(path)': \(loss.reason). What is stored stays so; make room and push again "
                    + "for new receipts.")
            return .uploadsFailed
        }
        if let lostOutput { complain("cannot write the results to standard output: \(lostOutput.reason)") }
        return lostOutput == nil && !isFailedListLost ? tally.exitCode(failure) : .uploadsFailed
    }

    /// Whoever stops a push wants to know what it has come to.
    private func sentence(_ failure: PushFailure, _ stopsAtFailure: Bool) -> String {
        guard failure.reason == .cancelled else { return failure.message.escapedForDisplay }
        let files = tally.committed.files
        let what = files == 0 ? "Nothing is" : files == 1 ? "1 file is" : "\(files) files are"
        let start = stopsAtFailure && hasFailures ? "The push was stopped at the first failure." : failure.message
        return "\(start) \(what) acknowledged" + (canGoOn ? "; the same command goes on from there." : ".")
    }

    /// - Returns: whether it could not be written.
    private func losesFailedList() -> Bool {
        guard let failedList else { return false }
        let path = failedList.path.escapedForDisplay
        do throws(SystemError) {
            try failedList.write()
        } catch {
            complain("cannot write what failed to '\(path)': \(error.reason)")
            return true
        }
        if !failedList.isEmpty { talk("what failed is listed in '\(path)'") }
        return false
    }

    private func complain(_ text: String) {
        print("transfer: \(text)\n", to: .error)
    }
}

extension PushReporter: Asker {}
