import Glibc
import Synchronization
import TransferIO
package import TransferModel
package import TransferSystem

/// Thumbnails of stored pictures, and what the pictures say about themselves. A picture is decoded by a process of its own, which can do
/// nothing else (`PictureDecoder`), when a client wants to see it, or in the background.
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

        package init(cachePath: String, cacheSize: Int64, decoders: Int) {
            (self.cachePath, self.cacheSize, self.decoders) = (cachePath, cacheSize, decoders)
        }
    }

    /// What waits for the thread.
    struct Waiting {
        var queue = OrderQueue<ThumbnailOrder>()
        /// Orders whose outcome is not known yet.
        var open: [ThumbnailOrder.Subject: ThumbnailOrder] = [:]
        var isThreadRunning = false
        var isClosed = false
    }

    let settings: Settings
    let waiting: Locked<Waiting>
    /// Nil before it is first needed, or if it cannot be used.
    private let opened: Locked<PictureCache?>
    /// To the helper; nil if it could not be started or has ended.
    let channel: Locked<DescriptorChannel?>
    let background: (any Background)?
    /// Called when the helper has ended although the gallery is open.
    let helperEnded: @Sendable () -> Void
    /// Wakes the thread when it waits for work.
    let bell: WakeUp

    /// - Parameters:
    ///   - channel: to a helper; nil if it could not be started. Then only what is in the cache can be seen.
    ///   - helperEnded: called when the helper has ended although the gallery is open.
    package init(
        _ settings: Settings, helper channel: DescriptorChannel?, background: (any Background)? = nil,
        helperEnded: @escaping @Sendable () -> Void = {}
    ) throws(SystemError) {
        (self.settings, self.background, self.helperEnded) = (settings, background, helperEnded)
        self.channel = Locked(channel)
        bell = try WakeUp()
        waiting = Locked(Waiting())
        // A cache is only made for a server whose pictures are looked at.
        opened = Locked(PictureCache(path: settings.cachePath, mostBytes: settings.cacheSize, makes: false))
    }

    /// Whether pictures of this server were ever looked at.
    package var isUsed: Bool { opened.withLock { $0 != nil } }

    /// The cache; made if `makes`.
    func cache(makes: Bool) -> PictureCache? {
        opened.withLock { opened in
            if opened == nil, makes {
                opened = PictureCache(path: settings.cachePath, mostBytes: settings.cacheSize)
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
        guard let side else { return cache.report(key) }
        if let thumbnail = cache.thumbnail(key, side) { return PictureReport(thumbnail: thumbnail) }
        guard let report = cache.report(key), report.refusal != nil else { return nil }
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
        let ticket = waiting.withLock { waiting -> ThumbnailTicket? in
            let subject = ThumbnailOrder.Subject(key: source.key, side: side)
            if let order = waiting.open[subject] { return ThumbnailTicket(order) }
            let order = ThumbnailOrder(source, side)
            let ticket = ThumbnailTicket(order)
            guard !waiting.isClosed, waiting.queue.add(order, of: client) else { return nil }
            waiting.open[subject] = order
            return ticket
        }
        guard let ticket else { throw Failure(.busy, "Too many thumbnails are waiting; try again in a moment.") }
        wake()
        return ticket
    }

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
        let orders = waiting.withLock { waiting in
            defer { (waiting.open, waiting.queue, waiting.isThreadRunning) = ([:], OrderQueue(), false) }
            return Array(waiting.open.values)
        }
        for order in orders { order.settle(.unavailable(reason)) }
    }
}
