internal import TransferClient
private import TransferModel
private import TransferSystem

/// Counts the results of a pull for its summary.
struct PullTally {
    /// Whether this is a dry run.
    let isPreview: Bool

    private(set) var results = ResultTally()
    private var fetched = (files: 0, bytes: UInt64(0))
    private var present = (files: 0, bytes: UInt64(0))
    /// Folders and links that were created, and entries with new attributes.
    private var entries = EntryCounts()
    private var skipped = 0
    private let started = monotonicNanoseconds()

    init(isPreview: Bool) {
        self.isPreview = isPreview
    }

    var isOutputLost: Bool {
        get { results.isOutputLost }
        set { results.isOutputLost = newValue }
    }

    mutating func add(_ report: PullReport) {
        results.add(report.result)
        switch report.result {
        case .alreadyStored:
            add(present: 1, report.size)
            if report.hasNewAttributes { entries.addAttributes() }
        case .skipped: skipped += 1
        case .committed where report.form != .file: entries.add(report.form)
        case .committed: add(report.size)
        default: break
        }
    }

    mutating func add(_ download: PlannedDownload) {
        results.add(.completed)
        if download.form == .file { add(download.size) } else { entries.add(download.form) }
    }

    mutating func add(_ folder: KnownFolder) {
        add(present: folder.files, folder.bytes)
    }

    private mutating func add(present files: Int, _ bytes: UInt64) {
        present = (present.files + files, present.bytes.addingClamped(bytes))
    }

    private mutating func add(_ bytes: UInt64) {
        fetched = (fetched.files + 1, fetched.bytes.addingClamped(bytes))
    }

    var isEmpty: Bool { fetched.files + present.files + skipped + results.failed.count == 0 && entries.isEmpty }

    /// The work done, for the message after an interruption.
    var work: StoppedWork {
        var work = StoppedWork("pull")
        work.isPreview = isPreview
        (work.files, work.bytes) = (fetched.files + present.files, fetched.bytes.addingClamped(present.bytes))
        return work
    }

    /// One line.
    ///
    /// - Parameter traffic: the bytes that the pull has received.
    func summary(_ traffic: Traffic) -> String {
        let pace = traffic.pace(over: Double(monotonicNanoseconds() - started) / 1e9)
        let size = ByteFormat.size(fetched.bytes)
        var text =
            isPreview
            ? "dry run: \(fetched.files) would be fetched, \(size)" : "\(fetched.files) fetched, \(size) in \(pace)"
        for words in entries.words { text += ", \(words)" }
        if present.files > 0 { text += ", \(present.files) already here" }
        if skipped > 0 { text += ", \(skipped) skipped" }
        if let failures = results.failures { text += ", \(failures)" }
        return text
    }
}
