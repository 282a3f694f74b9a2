import TransferModel
import TransferSystem

/// A pattern that is searched on the server, folder by folder.
final class PullExpansion: Sendable {
    /// The pattern as it was given.
    let text: String
    let glob: PathGlob
    private let state = Locked((open: 0, hasFound: false))

    init(_ text: String, _ glob: PathGlob) {
        (self.text, self.glob) = (text, glob)
    }

    /// Counts a folder that is to be searched.
    func begin() { state.withLock { $0.open += 1 } }

    /// Notes a match, or a failure that is reported instead of "no match".
    func found() { state.withLock { $0.hasFound = true } }

    /// Ends the search of a folder that could not be searched; its failure is reported.
    func leave() {
        found()
        _ = end()
    }

    /// Ends the search of a folder.
    ///
    /// - Returns: whether it was the last folder and nothing has matched.
    func end() -> Bool {
        state.withLock { state in
            state.open -= 1
            return state.open == 0 && !state.hasFound
        }
    }
}
