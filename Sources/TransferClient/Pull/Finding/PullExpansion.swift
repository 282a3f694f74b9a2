import TransferModel
import TransferSystem

/// A pattern that is looked for on the server, in one folder after the other.
final class PullExpansion: Sendable {
    /// As it was given.
    let text: String
    let glob: PathGlob
    private let state = Locked((open: 0, hasFound: false))

    init(_ text: String, _ glob: PathGlob) {
        (self.text, self.glob) = (text, glob)
    }

    /// A folder is to be looked through.
    func begin() { state.withLock { $0.open += 1 } }

    /// Something matches, or there is more to say than that nothing does.
    func found() { state.withLock { $0.hasFound = true } }

    /// A folder cannot be looked through, which is said of it.
    func leave() {
        found()
        _ = end()
    }

    /// A folder was looked through.
    ///
    /// - Returns: whether it was the last one, and nothing has matched.
    func end() -> Bool {
        state.withLock { state in
            state.open -= 1
            return state.open == 0 && !state.hasFound
        }
    }
}
