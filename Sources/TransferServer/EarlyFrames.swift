import TransferSystem

/// Frames that a lane has for its client while it is still at work on something long.
final class EarlyFrames: Sendable {
    private struct State {
        var frames: [UInt8] = []
        var notify: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    /// - Parameter notify: called on the lane's thread when there is something to take.
    func connect(_ notify: @escaping @Sendable () -> Void) {
        state.withLock { $0.notify = notify }
    }

    func send(_ frames: [UInt8]) {
        let notify = state.withLock { state in
            state.frames += frames
            return state.notify
        }
        notify?()
    }

    func take() -> [UInt8] {
        state.withLock { state in
            defer { state.frames = [] }
            return state.frames
        }
    }
}
