import TransferModel
import TransferProtocol

/// What is taken away on the server. Paths are below the folder of the server's address.
extension TransferClient {
    /// Removes files, and folders with all that is in them if that is wanted. What has its report is gone: for good, or to the
    /// trash, where it counts as one. The server's top folder is `invalidPath`: only what is in it can be removed.
    ///
    /// - Parameter keepsInTrash: whether it goes to the trash also where the server would not put it there.
    /// - Returns: one report for each path.
    public func remove(
        _ paths: [String], isRecursive: Bool = false, keepsInTrash: Bool = false
    ) -> RequestEvents<RemovalReport> {
        let requests = paths.map(Self.clean).map { path in
            let remote = requestContext.remote(path)
            return (path, RemoveRequest(path: remote, isRecursive: isRecursive, keepsInTrash: keepsInTrash))
        }
        return remove(requests, needs: keepsInTrash ? [.files, .trees] : .files)
    }

    func remove(
        _ requests: [(path: String, request: RemoveRequest)], needs: Features
    ) -> RequestEvents<RemovalReport> {
        let events = EventQueue<RemovalReport>()
        let queue = RequestQueue(needs: needs) { events.isFull }
        for (path, request) in requests {
            if request.trash == nil, let refusal = refusal(path) {
                events.send(refusal)
            } else {
                queue.add(RemovalTaker(path, request, requestContext, queue, events).asked)
            }
        }
        run(queue, events, resume: { queue.resume() })
        return RequestEvents(events)
    }

    /// What a removal would come to before the server looks at any path.
    ///
    /// - Parameter keepsInTrash: as for `remove`.
    /// - Returns: why the server lets this client remove nothing, if it does not; and whether what is removed goes to the trash, as
    ///   far as the server says so.
    package func removalTerms(
        keepsInTrash: Bool
    ) async throws(TransferFailure) -> (refusal: RemovalReport?, goesToTrash: Bool) {
        let features = try await features(needs: keepsInTrash ? [.files, .trees] : .files)
        let goesToTrash = keepsInTrash || features.contains(.trashes)
        guard features.contains(.trees) else { return (nil, goesToTrash) }
        // Whoever may remove may see the trash, and nobody else.
        do throws(TransferFailure) {
            _ = try await trash()
            return (nil, goesToTrash)
        } catch {
            guard error.reason == .rejected(.forbidden) else { throw error }
            let message = "This client may not remove anything."
            return (RemovalReport(path: "", result: .forbidden, message: message), goesToTrash)
        }
    }

    /// Why a path cannot be removed, whatever it leads to; nothing for others.
    package func refusal(_ path: String) -> RemovalReport? {
        let path = Self.clean(path)
        guard requestContext.remote(path).isEmpty else { return nil }
        return RemovalReport(
            path: path, result: .invalidPath,
            message: "It is the top folder of the server, which cannot be removed; name what is in it.")
    }
}
