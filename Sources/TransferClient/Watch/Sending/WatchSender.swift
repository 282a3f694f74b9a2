import TransferIO
import TransferModel
import TransferSystem

/// Pushes the batches of a watch, one after the other, and removes or moves the sources that are acknowledged. Its news
/// waits for the watch's thread.
final class WatchSender: Sendable {
    /// What a push reports to the thread of a watch.
    enum News: Sendable {
        case connected
        case lost(reason: String)
        case notice(String)
        /// Uploads that have ended, and what was done with their sources.
        case finished([(report: UploadReport, fate: SourceFate)])
        /// The push has ended; with a failure if not all of it was done.
        case ended(TransferFailure?)
    }

    private struct State {
        var news: [News] = []
        var events: PushEvents?
        var isStopped = false
    }

    private let client: TransferClient
    private let afterwards: WatchOptions.Afterwards
    private let moveTarget: MoveTarget?
    private let directory: String
    private let wake: WakeUp
    private let state = Locked(State())
    /// All pushes of a watch are one command for the server, so that none of the watch's files replaces another one.
    private let command = UInt64.random(in: .min ... .max)

    /// Reports whose sources are handled together.
    private static let reportsAtOnce = 256

    /// - Parameters:
    ///   - moveTarget: the folder for acknowledged files; nil if they are not moved.
    ///   - directory: the watched directory, without a slash at its end.
    ///   - wake: called when there is news.
    init(
        _ client: TransferClient, _ afterwards: WatchOptions.Afterwards, _ moveTarget: MoveTarget?, _ directory: String,
        _ wake: WakeUp
    ) {
        self.client = client
        self.afterwards = afterwards
        self.moveTarget = moveTarget
        self.directory = directory
        self.wake = wake
    }

    /// Sends files; with no files, only finds out whether the server answers.
    ///
    /// - Parameters:
    ///   - files: paths below the watched directory, each with the version that has settled. No other version is sent.
    ///   - root: the watched directory.
    func send(_ files: [(path: PathKey, look: SourceFile.Identity?)], of root: SourceRoot) {
        let uploads = files.map { path, look in
            var upload = Upload(at: SourcePlace(path.string, below: root), name: path.string)
            upload.expected = look
            return upload
        }
        let events = client.push(uploads, archive: nil, command: command)
        let isStopped = state.withLock { state in
            state.events = events
            return state.isStopped
        }
        if isStopped { events.cancel() }
        Task(executorPreference: client.requestContext.loop) { await self.follow(events) }
    }

    /// Takes the news since the last call.
    func takeNews() -> [News] {
        state.withLock { state in
            defer { state.news = [] }
            return state.news
        }
    }

    /// Stops sending. Files that are acknowledged still become news.
    func stop() {
        let events = state.withLock { state in
            state.isStopped = true
            return state.events
        }
        events?.cancel()
    }

    private func follow(_ events: PushEvents) async {
        var reports: [UploadReport] = []
        do throws(TransferFailure) {
            for try await event in events {
                switch event {
                case .connected: tell(.connected)
                case .reconnecting(let reason, _): tell(.lost(reason: reason))
                case .notice(let sentence): tell(.notice(sentence))
                case .finished(let report): reports.append(report)
                case .counted, .progress, .known: break
                }
                // Reports are collected, so that the server is asked about many sources at once.
                guard !events.areWaiting || reports.count >= Self.reportsAtOnce, !reports.isEmpty else { continue }
                await settle(reports)
                reports = []
            }
            await settle(reports)
            end(nil)
        } catch {
            await settle(reports)
            end(error)
        }
    }

    private func end(_ failure: TransferFailure?) {
        state.withLock { $0.events = nil }
        tell(.ended(failure))
    }

    private func tell(_ news: News) {
        state.withLock { $0.news.append(news) }
        wake.call()
    }

    private func settle(_ reports: [UploadReport]) async {
        guard !reports.isEmpty else { return }
        var fates = await fates(of: reports.filter(Self.isSafe))[...]
        tell(
            .finished(
                reports.map { report in
                    let fate = Self.isSafe(report) ? fates.popFirst() : nil
                    return (report, fate ?? (report.result == .stored ? unverified : .left))
                }))
    }

    private static func isSafe(_ report: UploadReport) -> Bool {
        [.committed, .alreadyStored].contains(report.result)
    }

    /// The fate of a source that a server of another kind has stored without verifying it.
    private var unverified: SourceFate {
        afterwards == .stays ? .left : .kept("The server has not confirmed that it compared the content.")
    }

    /// - Returns: one fate for each report, in order.
    private func fates(of stored: [UploadReport]) async -> [SourceFate] {
        switch afterwards {
        case .stays: return stored.map { _ in .left }
        case .isRemoved:
            return await client.removeSources(of: stored).map { result in
                switch result {
                case .success: .removed
                case .failure(let kept): .kept(kept.reason)
                }
            }
        case .moves:
            guard let target = moveTarget else { return stored.map { _ in .left } }
            let prefix = directory.utf8.count + 1
            return await client.pool.run {
                stored.map { target.take($0, String(decoding: $0.source.utf8.dropFirst(prefix), as: UTF8.self)) }
            }
        }
    }
}
