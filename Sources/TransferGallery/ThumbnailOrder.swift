import TransferSystem

/// Something that is wanted of a gallery: a thumbnail, or only what a picture says about itself. Those who want the same share one order.
/// Safe to use from any thread.
final class ThumbnailOrder: Sendable {
    /// What is wanted of which content; nil for no thumbnail.
    struct Subject: Hashable, Sendable {
        let key: PictureKey
        let side: ThumbnailSide?
    }

    private struct State {
        var outcome: PictureOutcome?
        /// Whether a decoder was started for it.
        var isStarted = false
        /// Number of tickets that are still held.
        var waiting = 0
        var rings: [Int: @Sendable () -> Void] = [:]
    }

    let source: StoredPicture
    let side: ThumbnailSide?
    private let state = Locked(State())

    init(_ source: StoredPicture, _ side: ThumbnailSide?) { (self.source, self.side) = (source, side) }

    /// Nil until it is known.
    var outcome: PictureOutcome? { state.withLock { $0.outcome } }

    /// Whether a decoder still has to be started for it.
    var isWanted: Bool { state.withLock { $0.waiting > 0 && !$0.isStarted && $0.outcome == nil } }

    func start() { state.withLock { $0.isStarted = true } }

    func settle(_ outcome: PictureOutcome) {
        let rings = state.withLock { state in
            guard state.outcome == nil else { return [@Sendable () -> Void]() }
            state.outcome = outcome
            return Array(state.rings.values)
        }
        for ring in rings { ring() }
    }

    fileprivate func join() { state.withLock { $0.waiting += 1 } }

    fileprivate func leave() { state.withLock { $0.waiting -= 1 } }

    fileprivate func watch(_ watcher: Int, _ ring: @escaping @Sendable () -> Void) {
        let isSettled = state.withLock { state in
            state.rings[watcher] = ring
            return state.outcome != nil
        }
        if isSettled { ring() }
    }

    fileprivate func unwatch(_ watcher: Int) { state.withLock { _ = $0.rings.removeValue(forKey: watcher) } }
}

/// The result of an order.
package enum PictureOutcome: Equatable, Sendable {
    case report(PictureReport)
    /// It could not be tried, as a sentence. It may succeed later.
    case unavailable(String)
}

/// The right to the result of an order. When the last ticket is gone before the decoder was started, it is not started.
package final class ThumbnailTicket: Sendable {
    private let order: ThumbnailOrder

    init(_ order: ThumbnailOrder) {
        self.order = order
        order.join()
    }

    deinit { order.leave() }

    /// Nil until it is known.
    package var outcome: PictureOutcome? { order.outcome }

    /// - Parameter ring: called from any thread when the outcome is known, perhaps at once; must not block.
    package func watch(_ watcher: Int, _ ring: @escaping @Sendable () -> Void) { order.watch(watcher, ring) }

    package func leave(_ watcher: Int) { order.unwatch(watcher) }
}
