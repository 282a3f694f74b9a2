import TransferModel
import TransferProtocol
import TransferSystem

/// Takes the list of a folder, and of the folders in it if that is wanted.
final class ListTaker: AnswerTaker {
    /// What the lists of one request have in common.
    final class Shared: Sendable {
        let context: RequestContext
        let queue: RequestQueue
        let events: EventQueue<RemoteEntry>
        let isRecursive: Bool
        let wantsDetails: Bool
        /// The part of the trash that is listed, if it is.
        let trash: TrashPlace?
        private let failure = Locked<PushFailure?>(nil)

        init(
            _ context: RequestContext, _ queue: RequestQueue, _ events: EventQueue<RemoteEntry>, isRecursive: Bool,
            wantsDetails: Bool, trash: TrashPlace? = nil
        ) {
            self.trash = trash
            (self.context, self.queue, self.events) = (context, queue, events)
            (self.isRecursive, self.wantsDetails) = (isRecursive, wantsDetails)
        }

        /// What went wrong first.
        var firstFailure: PushFailure? { failure.withLock { $0 } }

        func fail(_ code: ResultCode, _ message: String) {
            failure.withLock { failure in
                if failure == nil { failure = PushFailure(reason: .rejected(code), message: message) }
            }
        }

        func ask(_ path: String, isFirst: Bool = false) {
            queue.add(PendingRequest(request(path), ListTaker(path, self, isFirst: isFirst)))
        }

        func request(_ path: String) -> Request {
            let isTop = trash == .top
            return .list(
                ListRequest(path: isTop ? "" : context.remote(path), wantsDetails: wantsDetails, trash: trash))
        }
    }

    private let path: String
    private let shared: Shared
    private let isFirst: Bool
    /// Entries that have come, on this connection.
    private let count = Locked<UInt64>(0)

    private init(_ path: String, _ shared: Shared, isFirst: Bool) {
        (self.path, self.shared, self.isFirst) = (path, shared, isFirst)
    }

    func take(_ entries: [ListedEntry]) -> Taken {
        count.withLock { $0 += UInt64(entries.count) }
        for entry in entries where entry.form != .other {
            guard let below = RemoteEntry.path(of: entry.name, in: path) else {
                shared.fail(.invalidPath, "The server lists what is no name: \(entry.name.escapedForDisplay)")
                continue
            }
            let found = RemoteEntry(below, entry)
            shared.events.send(found)
            if shared.isRecursive, found.isDirectory { shared.ask(below) }
        }
        return .wanted
    }

    func end(_ outcome: Outcome) {
        defer { shared.queue.answered() }
        guard outcome.code == .completed else {
            // A folder that is gone by now has nothing in it.
            if isFirst || outcome.code != .notFound { shared.fail(outcome.code, outcome.message) }
            return
        }
        guard count.withLock({ $0 }) == outcome.count else {
            return shared.fail(.incomplete, "The list of \(path.escapedForDisplay) is not complete.")
        }
    }

    /// What was told cannot be taken back, and the order of what follows is another one.
    func lost() {
        guard count.withLock({ $0 }) > 0 else {
            return shared.queue.again(
                PendingRequest(shared.request(path), ListTaker(path, shared, isFirst: isFirst)))
        }
        shared.fail(.connectionLost, "The connection was lost in the middle of a list.")
        shared.queue.answered()
    }
}

extension RemoteEntry {
    /// The path of something in a folder.
    ///
    /// - Returns: nothing for a name that is none.
    static func path(of name: String, in folder: String) -> String? {
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")), (try? RelativePath(name)) != nil else {
            return nil
        }
        return folder.isEmpty ? name : "\(folder)/\(name)"
    }
}
