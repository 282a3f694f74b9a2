import TransferModel
import TransferProtocol

/// Folders and names on the server. Each change is one step there, and on disk when it is reported. Paths are below the folder of
/// the server's address. A server that is too old for these gets `rejected`.
extension TransferClient {
    /// Makes folders, with those above them. One that is there already is no failure.
    ///
    /// - Returns: one report for each path, in their order.
    public func makeFolders(_ paths: [String]) -> RequestEvents<ChangeReport> {
        change(paths) { path in .make(MakeRequest(.directory, path: path)) }
    }

    /// Gives files and folders other paths, and makes the folders above these.
    ///
    /// - Parameters:
    ///   - moves: where each is, and where it is to be.
    ///   - replaces: whether a file that is there gives way to a file.
    /// - Returns: one report for each, in their order.
    public func move(
        _ moves: [(path: String, target: String)], replaces: Bool = false
    ) -> RequestEvents<ChangeReport> {
        let targets = moves.map { requestContext.remote(Self.clean($0.target)) }
        return change(moves.map(\.path)) { path, index in
            .move(MoveRequest(path: path, to: targets[index], replaces: replaces))
        }
    }

    /// Copies files on the server, where nothing of them travels; the content is shared where the server's file system can.
    ///
    /// - Parameters:
    ///   - copies: where each is, and where its copy is to be. Folders above that are made.
    ///   - replaces: whether a file that is there gives way.
    /// - Returns: one report for each, in their order, with the path of the copy.
    public func copy(
        _ copies: [(path: String, target: String)], replaces: Bool = false
    ) -> RequestEvents<ChangeReport> {
        let sources = copies.map { requestContext.remote(Self.clean($0.path)) }
        return change(copies.map(\.target)) { path, index in
            .make(MakeRequest(.copy, path: path, target: Array(sources[index].utf8), replaces: replaces))
        }
    }

    /// Copies files and symbolic links, and folders with all that the server keeps of them and of what is in them. Nothing of it
    /// travels.
    ///
    /// - Parameters:
    ///   - copies: where each is, and where its copy is to be. Folders above that are made.
    ///   - isRecursive: whether folders are copied; otherwise one is `wrongForm`.
    ///   - replaces: whether a file or link that is there gives way. A folder that is there stays, and gets more.
    ///   - unlisted: is told of each folder that has names which no path can have.
    /// - Returns: one report for each thing with the path of its copy, or its own where that is what is wrong. It throws
    ///   `TransferFailure`, `rejected` when a folder cannot be listed; then nothing is copied.
    package func copyTrees(
        _ copies: [(path: String, target: String)], isRecursive: Bool, replaces: Bool = false,
        unlisted: @escaping @Sendable (UnlistedNames) -> Void = { _ in }
    ) -> RequestEvents<ChangeReport> {
        let events = EventQueue<ChangeReport>()
        let copy = TreeCopy(client: self, isRecursive: isRecursive, replaces: replaces, unlisted: unlisted) {
            events.send($0)
        }
        let work = Task {
            let result: Result<Void, TransferFailure>
            do throws(TransferFailure) {
                result = .success(try await copy.run(copies))
            } catch {
                result = .failure(error)
            }
            events.finish(result)
        }
        events.connect(onRoom: {}, onCancel: { work.cancel() })
        return RequestEvents(events)
    }

    private func change(_ paths: [String], _ request: (String) -> Request) -> RequestEvents<ChangeReport> {
        change(paths) { path, _ in request(path) }
    }

    func change(_ paths: [String], _ request: (String, Int) -> Request) -> RequestEvents<ChangeReport> {
        let events = EventQueue<ChangeReport>()
        let queue = RequestQueue(needs: [.files, .trees]) { events.isFull }
        for (index, path) in paths.map(Self.clean).enumerated() {
            queue.add(ChangeTaker(path, request(requestContext.remote(path), index), queue, events).asked)
        }
        run(queue, events, resume: { queue.resume() })
        return RequestEvents(events)
    }
}
