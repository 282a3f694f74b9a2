import TransferModel

/// Whether the watched directory exists, and is still the same. When a card is removed, its path leads to no directory,
/// or to the directory on which the card was mounted: in neither case were the card's files removed.
struct RootPresence: Sendable {
    /// The directory under the path.
    struct Root: Equatable, Sendable {
        let device: UInt64
        let inode: UInt64
        /// Whether its parent is on another file system.
        let isMountPoint: Bool
    }

    enum Change: Equatable, Sendable {
        case none
        /// The directory does not exist, or is not mounted, and the last look did not show this.
        case gone
        /// The directory exists, exists again, or is another one: all of it has to be scanned.
        case came
    }

    private enum State {
        case unknown
        case present(Root)
        case gone(wasMounted: Bool)
        /// The kernel has reported that the directory was removed, moved or unmounted, and there was no look since.
        case replaced(wasMounted: Bool)
    }

    private var state = State.unknown

    init() {}

    var isPresent: Bool { if case .present = state { true } else { false } }

    /// The kernel has reported that the directory was removed, moved or unmounted. A directory that the path leads to
    /// now is another one, even if it has the same inode number.
    mutating func lost() {
        guard case .present(let last) = state else { return }
        state = .replaced(wasMounted: last.isMountPoint)
    }

    /// - Parameter root: nil if there is no directory.
    mutating func looked(_ root: Root?) -> Change {
        switch (state, root) {
        case (.present(let last), let root?) where last == root: return .none
        case (.present(let last), let root?) where last.isMountPoint && !root.isMountPoint:
            return went(wasMounted: true)
        case (.replaced(wasMounted: true), let root?) where !root.isMountPoint: return went(wasMounted: true)
        case (.gone(wasMounted: true), let root?) where !root.isMountPoint: return .none
        case (_, let root?):
            state = .present(root)
            return .came
        case (.gone, nil): return .none
        case (.present(let last), nil): return went(wasMounted: last.isMountPoint)
        case (.replaced(let wasMounted), nil): return went(wasMounted: wasMounted)
        case (.unknown, nil): return went(wasMounted: false)
        }
    }

    private mutating func went(wasMounted: Bool) -> Change {
        state = .gone(wasMounted: wasMounted)
        return .gone
    }
}
