import TransferProtocol
import TransferSystem

/// What one incoming file takes of the space that there is, given back when it goes.
final class SpaceHold: Sendable {
    private struct State {
        var bytes: UInt64 = 0
        var isOver = false
    }

    private let space: Space
    /// Whose part it is; a part stays, and its share with it, when nobody has it open.
    private let part: UploadID?
    private let state = Locked(State())

    init(_ space: Space, part: UploadID? = nil) {
        self.space = space
        self.part = part
    }

    deinit {
        if part == nil { giveBack() }
    }

    /// Has room for a file that ends there.
    ///
    /// - Throws: `quotaExceeded`.
    func grow(to end: UInt64) throws(StoreError) {
        try state.withLock { (state) throws(StoreError) in
            guard end > state.bytes else { return }
            if let part { try space.hold(part: part, upTo: end) } else { try space.hold(end - state.bytes) }
            state.bytes = end
        }
    }

    /// The bytes are no longer there.
    func giveBack() {
        guard let bytes = end() else { return }
        if let part { space.release(part: part) } else { space.release(bytes) }
    }

    /// The file has its name.
    ///
    /// - Parameter old: bytes of the one that had it before.
    func publish(_ size: UInt64, replacing old: UInt64 = 0) {
        space.stored(size, replacing: old)
        giveBack()
    }

    /// Looks whether the disk is as free as it has to be.
    func checkRoom() throws(StoreError) { try space.check() }

    private func end() -> UInt64? {
        state.withLock { state in
            guard !state.isOver else { return nil }
            state.isOver = true
            return state.bytes
        }
    }
}
