package import TransferModel
import TransferSystem

/// Frames that a worker has for its client while it is still at work on something long.
package final class EarlyAnswers: Sendable {
    private struct State {
        var frames: [UInt8] = []
        var settled: [UploadID] = []
        var notify: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    package init() {}

    /// - Parameter notify: called on the worker's thread when there is something to take.
    func connect(_ notify: @escaping @Sendable () -> Void) {
        state.withLock { $0.notify = notify }
    }

    /// - Parameter settled: uploads that have their answer with these frames.
    func send(_ frames: [UInt8], settled: [UploadID] = []) {
        let notify = state.withLock { state in
            state.frames += frames
            state.settled += settled
            return state.notify
        }
        notify?()
    }

    package func take() -> (frames: [UInt8], settled: [UploadID]) {
        state.withLock { state in
            defer { (state.frames, state.settled) = ([], []) }
            return (state.frames, state.settled)
        }
    }
}
