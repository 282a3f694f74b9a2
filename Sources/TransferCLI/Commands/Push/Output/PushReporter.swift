import TransferClient
private import TransferModel
internal import TransferSystem

/// Prints the events of a push: results on standard output, messages on standard error.
actor PushReporter {
    let output: PushOutput
    var progress: (any PushProgress)?
    private var pausedProgress: (any PushProgress)?
    var tally = PushTally()
    var lostOutput: SystemError?
    private var connection = ConnectionTalk()
    /// Seconds for which the server keeps unfinished uploads; nil until it has said so.
    var kept: UInt32?
    private let printing: PushPrinting
    let canGoOn: Bool
    let receipts: ReceiptFile?
    let failedList: FailedList?
    /// The server's name in commands; nil if commands cannot name it.
    let server: String?

    /// Whether an upload has failed.
    var hasFailures: Bool { tally.failures > 0 || tally.damaged > 0 }

    /// - Parameters:
    ///   - canGoOn: whether the same command, run again, would continue; false for a stream, which cannot be read
    ///     twice.
    ///   - receipts: the file for receipts; nil without `--receipts`.
    ///   - failedList: the list of failures; nil without `--failed-to`.
    ///   - server: the server's name in commands; nil if commands cannot name it.
    init(
        _ output: PushOutput, _ printing: PushPrinting, canGoOn: Bool, receipts: ReceiptFile? = nil,
        failedList: FailedList? = nil, server: String? = nil
    ) {
        self.output = output
        self.server = server
        self.printing = printing
        self.canGoOn = canGoOn
        self.receipts = receipts
        self.failedList = failedList
        progress = output.progress.makeProgress(output.traffic)
    }

    /// - Parameter isLast: whether no other event is waiting, so that buffered receipts must be written.
    func show(_ event: PushEvent, isLast: Bool) {
        defer { if isLast { receipts?.flush() } }
        switch event {
        case .finished(let report): show(report)
        case .known(let folder): show(folder)
        case .reconnecting(let reason, let seconds):
            talk(connection.line(reason, after: seconds))
        case .connected: connection.connected()
        // The notice is printed even with `--quiet`: a user who does not see it would trust any key.
        case .notice(let sentence): print("\(sentence)\n", to: .error)
        case .progress(let progress): tally.add(progress)
        case .counted: break
        }
        progress?.update(event)
    }

    /// Prints a picture that was checked, or lets its source be removed if all of it could be decoded.
    ///
    /// - Parameter sources: removes the sources; nil to keep them.
    func take(_ report: UploadReport, _ sources: SourceRemovals?) async {
        guard let sources, SourceRemoval.concerns(report) else { return show(.finished(report), isLast: true) }
        guard report.check?.verdict != .whole else { return await sources.add(report) }
        _ = hold(report)
        settle(report, .kept("The server has not decoded all of the picture."))
    }

    /// Prints an upload whose source will be removed once the server has confirmed it again. Its JSON line is printed
    /// only then, because it says what happened to the source.
    ///
    /// - Returns: false if the upload has a receipt that could not be written.
    func hold(_ report: UploadReport) -> Bool {
        progress?.update(.finished(report))
        if let receipt = report.receipt { receipts?.append(receipt) }
        count(report)
        if !output.isJSON { printLine(of: report) }
        guard report.receipt != nil, let receipts else { return true }
        receipts.flush()
        return receipts.isWell
    }

    /// Prints what happened to the source of an upload that was held.
    ///
    /// - Parameter removal: nil if there is nothing to report.
    func settle(_ report: UploadReport, _ removal: SourceRemoval?) {
        if let removal { tally.add(removal) }
        if output.isJSON { printLine(of: report, removal) }
        guard case .kept(let reason) = removal else { return }
        print("not removed  \(report.source.escapedForDisplay): \(reason.escapedForDisplay)\n", to: .error)
    }

    /// Reports that the sources of held uploads are kept.
    func giveUp(_ reports: [UploadReport]) {
        guard !reports.isEmpty else { return }
        let reason = "The push ended before the server was asked again whether it has them."
        for report in reports {
            tally.add(.kept(reason))
            if output.isJSON { printLine(of: report, .kept(reason)) }
        }
        let sources = reports.count == 1 ? "1 source" : "\(reports.count) sources"
        print("not removed  \(sources): \(reason) The same command removes them.\n", to: .error)
    }

    /// Reports listed paths that cannot be opened.
    func show(unusable paths: [[UInt8]]) {
        for path in paths {
            failedList?.append(path)
            show(.unusable(path))
        }
    }

    /// Counts the files and folders that rules have excluded.
    func count(leftOut: LeftOut) {
        tally.add(leftOut)
    }

    /// Adds uploads without a result to the list of failures, because the push ended early.
    func list(rest plan: UploadPlan) {
        failedList?.append(rest: plan)
    }

    /// Redraws progress: rate and time left also change without events.
    func refresh() {
        progress?.refresh()
    }

    /// Prints a question, and draws nothing until it is answered.
    func ask(_ question: String) {
        progress?.clear()
        pausedProgress = progress
        progress = nil
        StandardStream.error.write(question)
    }

    /// Resumes drawing after an answer.
    func answered() {
        progress = pausedProgress
        pausedProgress = nil
    }

    /// Whether a signal has stopped the command.
    var isStopped: Bool { Interruption.hasCome }

    private func show(_ report: UploadReport) {
        if let receipt = report.receipt { receipts?.append(receipt) }
        count(report)
        // The receipt is written before the line, so that a user who sees the line finds the receipt.
        if output.isJSON || !output.isQuiet || !report.result.isSuccess { receipts?.flush() }
        printLine(of: report)
    }

    private func count(_ report: UploadReport) {
        if let check = report.check, let reason = check.reason {
            let start = check.verdict == .damaged ? "damaged" : "not checked"
            print("\(start)  \(report.source.escapedForDisplay): \(reason.escapedForDisplay)\n", to: .error)
        }
        let hasFailed = tally.add(report)
        kept = report.keptFor ?? kept
        failedList?.settle(report, hasFailed: hasFailed)
    }

    private func printLine(of report: UploadReport, _ removal: SourceRemoval? = nil) {
        var report = report
        report.storedPath = report.storedPath.map(output.shown)
        if output.isJSON {
            print(report.json(removal).text + "\n", to: .output)
        } else if isStopped, report.result == .cancelled {
            // After an interruption, cancelled uploads are not printed.
        } else if !report.result.isSuccess {
            print("\(report.line(colours: output.hasColours(.error)))\n", to: .error)
        } else if !output.isQuiet, printing.shows(report) || report.check?.verdict == .damaged {
            print(
                "\(report.line(colours: output.hasColours(.output), columns: Terminal.columns(of: .output)))\n",
                to: .output)
        }
    }

    private func show(_ folder: KnownFolder) {
        tally.add(folder)
        guard !output.isQuiet, printing.showsKnownFolders else { return }
        var folder = folder
        folder.storedPath = output.shown(folder.storedPath)
        print("\(folder.line(colours: output.hasColours(.output)))\n", to: .output)
    }

    func talk(_ text: String) {
        guard !output.isQuiet else { return }
        print("\(text)\n", to: .error)
    }

    /// - Parameter text: the text, with the end of the line.
    func print(_ text: String, to stream: StandardStream) {
        progress?.clear()
        let isMessage = stream == .error && output.progress == .json
        let loss = stream.write(isMessage ? JSONProgress.message(text) : text)
        if stream == .output { lostOutput = lostOutput ?? loss }
    }
}

extension PushReporter: Asker {}
