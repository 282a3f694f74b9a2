import Glibc
import Synchronization
import TransferIO
package import TransferModel
package import TransferSystem

/// Makes thumbnails of stored pictures, and reads their headers, when a client wants to see them or in the background. A separate process
/// decodes each picture (`PictureDecoder`); the kernel kills it if it does anything else.
///
/// ```
///   a request ─ find ─► PictureCache          known already
///             ─ order ─► OrderQueue ─► GalleryWorker ═══► DecoderHelper ─► PictureDecoder
///                                       a thread    ◄═══ report, not trusted
/// ```
///
/// Safe to use from any thread. Its thread starts with the first order.
package final class Gallery: Sendable {
    /// Pictures to look at in the background, when no client is waiting. Called on the gallery's thread, one call at a time.
    package protocol Background: AnyObject, Sendable {
        /// - Returns: nil if there is nothing to do now.
        func next() -> (StoredPicture, ThumbnailSide?)?
    }

    package struct Settings: Sendable {
        /// Path of the cache's file.
        package var cachePath: String
        /// Most bytes of all thumbnails in the cache.
        package var cacheSize: Int64
        /// Most decoders that run at once.
        package var decoders: Int
        /// Whether the disk has room for the cache.
        package var hasRoom: @Sendable () -> Bool

        package init(
            cachePath: String, cacheSize: Int64, decoders: Int, hasRoom: @escaping @Sendable () -> Bool = { true }
        ) {
            (self.cachePath, self.cacheSize, self.decoders) = (cachePath, cacheSize, decoders)
            self.hasRoom = hasRoom
        }
    }

    /// What waits for the thread.
    struct Waiting {
        var queue = OrderQueue<ThumbnailOrder>()
        /// Orders that may have no outcome yet, as long as they wait, have a decoder, or have a ticket.
        private var open: [ThumbnailOrder.Subject: Open] = [:]
        var isThreadRunning = false
        var isClosed = false

        private struct Open {
            weak var order: ThumbnailOrder?
        }

        /// Entries of `open` above which those of orders that are gone are removed.
        private static let mostOpen = 1024

        /// Orders something, or joins an order for it, which then waits for its turn in the line of this client, too.
        ///
        /// - Returns: a ticket; nil if too many orders wait. And an order that has lost its place, which has to be settled.
        mutating func place(
            _ source: StoredPicture, _ side: ThumbnailSide?, for client: Int
        ) -> (ThumbnailTicket?, lost: ThumbnailOrder?) {
            guard !isClosed else { return (nil, nil) }
            let subject = ThumbnailOrder.Subject(key: source.key, side: side)
            let present = open[subject]?.order.flatMap { $0.outcome == nil ? $0 : nil }
            let order = present ?? ThumbnailOrder(source, side)
            let ticket = ThumbnailTicket(order)
            var lost: ThumbnailOrder?
            if order.isWanted {
                switch queue.add(order, of: client, isWanted: \.isWanted) {
                case .added(let dropped):
                    lost = dropped.flatMap { dropped in queue.contains { $0 === dropped } ? nil : dropped }
                case .refused: if present == nil { return (nil, nil) }
                }
            }
            if open.count > Self.mostOpen { open = open.filter { $0.value.order != nil } }
            open[subject] = Open(order: order)
            return (ticket, lost)
        }

        /// Ends the waiting of all orders.
        ///
        /// - Returns: the orders, which have to be settled.
        mutating func end() -> [ThumbnailOrder] {
            defer { (open, queue, isThreadRunning) = ([:], OrderQueue(), false) }
            return open.values.compactMap(\.order)
        }
    }

    let settings: Settings
    let waiting: Locked<Waiting>
    /// Nil before it is first needed, or if it cannot be used.
    private let opened: Locked<PictureCache?>
    /// To the helper; nil if it could not be started or has ended.
    let channel: Locked<DescriptorChannel?>
    let background: (any Background)?
    private let report: @Sendable (Problem) -> Void
    private let reported = Locked(Set<Problem>())

    /// Why there are no new thumbnails. The log has each once.
    package enum Problem: Sendable {
        /// The helper has ended although the gallery is open.
        case helperEnded
        /// Decoders do not start, or cannot be confined.
        case notStarted
    }
    /// Wakes the thread when it waits for work.
    let bell: WakeUp

    /// - Parameters:
    ///   - channel: to a helper; nil if it could not be started. Then only what is in the cache can be seen.
    ///   - report: called at most once for each problem.
    package init(
        _ settings: Settings, helper channel: DescriptorChannel?, background: (any Background)? = nil,
        report: @escaping @Sendable (Problem) -> Void = { _ in }
    ) throws(SystemError) {
        (self.settings, self.background, self.report) = (settings, background, report)
        self.channel = Locked(channel)
        bell = try WakeUp()
        waiting = Locked(Waiting())
        // A cache is only made for a server whose pictures are looked at.
        opened = Locked(
            PictureCache(
                path: settings.cachePath, mostBytes: settings.cacheSize, makes: false, hasRoom: settings.hasRoom))
    }

    /// Whether pictures of this server were ever looked at.
    package var isUsed: Bool { opened.withLock { $0 != nil } }

    func warn(_ problem: Problem) {
        if reported.withLock({ $0.insert(problem).inserted }) { report(problem) }
    }

    /// Whether what is found out can be kept.
    var keeps: Bool { settings.hasRoom() && cache(makes: true) != nil }

    /// The cache; made if `makes`.
    func cache(makes: Bool) -> PictureCache? {
        opened.withLock { opened in
            if opened == nil, makes, settings.hasRoom() {
                opened = PictureCache(
                    path: settings.cachePath, mostBytes: settings.cacheSize, hasRoom: settings.hasRoom)
            }
            return opened
        }
    }

    /// What was found out about a picture before.
    ///
    /// - Parameter side: of the thumbnail; nil if none is wanted.
    /// - Returns: nil if it has to be ordered.
    package func find(_ key: PictureKey, _ side: ThumbnailSide?) -> PictureReport? {
        guard let cache = cache(makes: false) else { return nil }
        if let kept = cache.thumbnail(key, side) { return kept }
        guard let report = cache.report(key), side == nil || report.refusal != nil else { return nil }
        return report
    }

    /// What is known about several pictures; nil for each that is unknown.
    package func summaries(_ keys: [PictureKey]) -> [PictureSummary?] {
        cache(makes: false)?.summaries(keys) ?? keys.map { _ in nil }
    }

    /// Orders a thumbnail, or only what a picture says about itself.
    ///
    /// - Parameter client: whose turn it costs.
    /// - Throws: `busy` if too many orders wait.
    package func order(
        _ source: StoredPicture, _ side: ThumbnailSide?, for client: Int
    ) throws(Failure) -> ThumbnailTicket {
        guard channel.withLock({ $0 != nil }) else {
            throw Failure(.busy, "Pictures cannot be decoded until the server is started again.")
        }
        let (ticket, lost) = waiting.withLock { $0.place(source, side, for: client) }
        lost?.settle(.unavailable(Self.crowded))
        guard let ticket else { throw Failure(.busy, Self.crowded) }
        wake()
        return ticket
    }

    private static let crowded = "Too many thumbnails are waiting; try again in a moment."

    /// Lets the thread look for work, also in the background.
    package func wake() {
        let mustStart = waiting.withLock { waiting in
            guard !waiting.isThreadRunning, !waiting.isClosed else { return false }
            waiting.isThreadRunning = true
            return true
        }
        guard mustStart else { return bell.call() }
        do throws(SystemError) {
            try startThread(name: "transfer-gallery") { [weak self] in
                guard let self, let worker = GalleryWorker(self) else { return }
                worker.run()
            }
        } catch {
            stop("The server has no thread for thumbnails.")
        }
    }

    /// Ends the thread and the helper.
    package func close() {
        waiting.withLock { $0.isClosed = true }
        bell.call()
        channel.withLock { $0 = nil }
    }

    /// Gives all open orders an outcome that says why they cannot be done.
    func stop(_ reason: String) {
        let orders = waiting.withLock { $0.end() }
        for order in orders { order.settle(.unavailable(reason)) }
    }
}
