import TransferClient
private import TransferModel
internal import TransferSystem

/// Turns the events of a push into what people and scripts read: results on standard output, talk on standard error.
actor PushReporter {
    let output: PushOutput
    var progress: (any PushProgress)?
    private var pausedProgress: (any PushProgress)?
    var tally = PushTally()
    var lostOutput: SystemError?
    private var connection = ConnectionTalk()
    /// Seconds for which the server keeps what has arrived of uploads that did not end.
    var kept: UInt32?
    private let printing: PushPrinting
    let canGoOn: Bool
    let receipts: ReceiptFile?
    let failedList: FailedList?
    /// The server's name in commands; nil for a server that they cannot name.
    let server: String?

    /// Whether anything has failed.
    var hasFailures: Bool { tally.failures > 0 }

    /// - Parameters:
    ///   - canGoOn: whether the same command would go on with what is not acknowledged: nobody can read a stream twice.
    ///   - receipts: where to keep those that come with the reports.
    ///   - failedList: where to keep what fails.
    ///   - server: its name in commands; nil for a server that they cannot name.
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

    /// - Parameter isLast: whether no other event waits, so that what was collected has to be written.
    func show(_ event: PushEvent, isLast: Bool) {
        defer { if isLast { receipts?.flush() } }
        switch event {
        case .finished(let report): show(report)
        case .known(let folder): show(folder)
        case .reconnecting(let reason, let seconds):
            talk(connection.line(reason, after: seconds))
        case .connected: connection.connected()
        // Also where little is said: whoever never sees it trusts anybody.
        case .notice(let sentence): print("\(sentence)\n", to: .error)
        case .progress(let progress): tally.add(progress)
        case .counted: break
        }
        progress?.update(event)
    }

    /// Shows an upload whose source is to be removed when the server was asked again. A line of JSON says what became of the source,
    /// so it waits for that.
    ///
    /// - Returns: whether its receipt is written, where it has one.
    func hold(_ report: UploadReport) -> Bool {
        progress?.update(.finished(report))
        if let receipt = report.receipt { receipts?.append(receipt) }
        count(report)
        if !output.isJSON { printLine(of: report) }
        guard report.receipt != nil, let receipts else { return true }
        receipts.flush()
        return receipts.isWell
    }

    /// Shows what became of the source of an upload that was held.
    ///
    /// - Parameter removal: nil where nothing is said of it.
    func settle(_ report: UploadReport, _ removal: SourceRemoval?) {
        if let removal { tally.add(removal) }
        if output.isJSON { printLine(of: report, removal) }
        guard case .kept(let reason) = removal else { return }
        print("not removed  \(report.source.escapedForDisplay): \(reason.escapedForDisplay)\n", to: .error)
    }

    /// Says that the sources of uploads that were held stay.
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

    /// Shows the paths of a list that nothing can be opened by.
    func show(unusable paths: [[UInt8]]) {
        for path in paths {
            failedList?.append(path)
            show(.unusable(path))
        }
    }

    /// Takes note of what rules have left out.
    func count(leftOut: LeftOut) {
        tally.add(leftOut)
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

    /// Whether a signal ends it.
    var isStopped: Bool { Interruption.hasCome }

    private func show(_ report: UploadReport) {
        if let receipt = report.receipt { receipts?.append(receipt) }
        count(report)
        // Kept before it is shown: who reads of an upload finds its receipt.
        if output.isJSON || !output.isQuiet || !report.result.isSuccess { receipts?.flush() }
        printLine(of: report)
    }

    private func count(_ report: UploadReport) {
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
            // Whoever has stopped it knows that.
        } else if !report.result.isSuccess {
            print("\(report.line(colours: output.hasColours(.error)))\n", to: .error)
        } else if !output.isQuiet, printing.shows(report) {
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

    /// - Parameter text: with the end of its line.
    func print(_ text: String, to stream: StandardStream) {
        progress?.clear()
        let isMessage = stream == .error && output.progress == .json
        let loss = stream.write(isMessage ? JSONProgress.message(text) : text)
        if stream == .output { lostOutput = lostOutput ?? loss }
    }
}

extension PushReporter: Asker {}
