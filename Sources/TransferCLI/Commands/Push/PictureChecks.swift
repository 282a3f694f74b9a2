internal import TransferClient
private import TransferModel

/// The pictures of a push with `--verify-pictures`. Each is reported when the server has decoded it. Meanwhile the push
/// goes on: a second connection asks about all pictures that are stored by then.
actor PictureChecks {
    /// Most reports that wait, about 60 MB of memory. When there are as many, the push waits.
    private static let mostWaiting = 65_536

    private let client: TransferClient
    private let deliver: @Sendable (UploadReport) async -> Bool
    private var waiting: [UploadReport] = []
    private var work: Task<Void, Never>?
    private var events: RequestEvents<(place: Int, check: PictureCheck)>?
    private var isCancelled = false

    /// - Parameter deliver: takes each report with its check, and returns whether more are wanted.
    init(_ client: TransferClient, deliver: @escaping @Sendable (UploadReport) async -> Bool) {
        (self.client, self.deliver) = (client, deliver)
    }

    /// Whether a report is about a stored picture.
    static func concerns(_ report: UploadReport) -> Bool {
        guard report.form == .file, !report.isSealed, [.committed, .alreadyStored].contains(report.result),
            let path = report.storedPath
        else { return false }
        return report.kind == .picture || PictureNames.isPicture(path)
    }

    func add(_ report: UploadReport) async {
        while waiting.count >= Self.mostWaiting, let work { await work.value }
        waiting.append(report)
        if work == nil { work = Task { await checkAll() } }
    }

    /// Waits until every picture is reported.
    func settle() async {
        while let work { await work.value }
    }

    /// Reports the pictures that still wait as not checked.
    func cancel() {
        isCancelled = true
        events?.cancel()
    }

    private func checkAll() async {
        while !waiting.isEmpty {
            let reports = waiting
            waiting = []
            await check(reports)
        }
        work = nil
    }

    private func check(_ reports: [UploadReport]) async {
        var left = Set(reports.indices)
        var reason = "The push was stopped before the server had decoded the picture."
        if !isCancelled {
            let events = client.checkPictures(of: reports)
            self.events = events
            do throws(TransferFailure) {
                for try await (place, check) in events where left.remove(place) != nil {
                    await report(reports[place], check)
                }
            } catch {
                if error.reason != .cancelled { reason = error.message }
            }
            self.events = nil
        }
        for place in left.sorted() { await report(reports[place], .unanswered(reason)) }
    }

    private func report(_ report: UploadReport, _ check: PictureCheck) async {
        var report = report
        report.check = check
        if await !deliver(report) { cancel() }
    }
}
