import Synchronization
import TransferAccess
import TransferIntake
import TransferModel
import TransferProtocol
import TransferSimulation

/// Clients, their connections to one server after another, and all promises that the servers made to them.
final class ConversationWorld {
    /// One connection, with both ends.
    private struct Line {
        var client = ScriptedClient()
        let server: DirectConversation
    }

    /// The size and digest that a client has declared for some content.
    private struct Declared: Hashable {
        let size: UInt64
        let digest: Digest
    }

    /// The answers that a connection still has to receive for the messages that its server has accepted.
    private final class Account {
        /// Unanswered uploads by ID, in order. As soon as the server has given an upload its result, the client may
        /// begin the upload again, even before it has read the result.
        private var uploads: [UploadID: [Owed]] = [:]
        /// Number of unanswered requests by ID. As soon as the server has answered a request, the client may use its ID
        /// again, even before it has read the answer.
        private var requests: [UInt32: Int] = [:]
        /// The request whose content is arriving.
        var fetched: UInt32?

        /// A pending answer to an upload, or to a question about one.
        struct Owed {
            /// The target path; nil for an upload that was only looked up.
            var path: String?
            var isQuestion = false
        }

        func owes(request id: UInt32) { requests[id, default: 0] += 1 }

        /// - Returns: whether the request was waiting for an answer.
        func answered(request id: UInt32) -> Bool {
            guard let count = requests[id] else { return false }
            requests[id] = count > 1 ? count - 1 : nil
            return true
        }

        var owesNoRequest: Bool { requests.isEmpty }

        /// IDs of uploads without an answer.
        var unanswered: [UploadID] { Array(uploads.keys) }

        func owes(_ owed: Owed, for id: UploadID) { uploads[id, default: []].append(owed) }

        /// Removes the oldest pending answer.
        ///
        /// - Returns: nil if no answer is pending.
        func answered(_ id: UploadID) -> Owed? {
            guard var owed = uploads[id], !owed.isEmpty else { return nil }
            defer { uploads[id] = owed.isEmpty ? nil : owed }
            return owed.removeFirst()
        }

        /// The client may send the upload that it asked about. An upload that waits for its result continues to wait.
        func accepted(_ id: UploadID) {
            if uploads[id]?.first?.isQuestion ?? false { _ = answered(id) }
        }
    }

    private static let lineCount = 4

    private let ground: SimulatedGround
    private var lines = [Line?](repeating: nil, count: lineCount)
    private var accounts = [Account](repeating: Account(), count: lineCount)
    private var connections = 0
    private let declared = Declarations()

    /// All content that any client has declared, and whether a client has asked for a removal.
    private final class Declarations {
        var ends: Set<Declared> = []
        var removes = false
    }

    init(seed: UInt64) throws(Finding) {
        do {
            ground = try SimulatedGround(seed: seed)
        } catch {
            throw Finding("No server can be started: \(error).")
        }
    }

    // MARK: Steps

    /// - Parameter waits: whether the bytes are sent together with those of the next step.
    func say(on index: Int, waits: Bool, _ body: (inout ScriptedClient) -> Void) throws(Finding) {
        guard var line = try line(index) else { return }
        body(&line.client)
        lines[index] = line
        if !waits { try deliver(index) }
    }

    /// Sends only the first `count` of the waiting bytes, and closes the connection.
    func cut(_ index: Int, to count: Int) throws(Finding) {
        guard lines[index] != nil else { return }
        lines[index]?.client.cut(to: count)
        try deliver(index)
        try close(index)
    }

    func close(_ index: Int) throws(Finding) {
        guard let line = lines[index] else { return }
        lines[index] = nil
        line.server.end()
        try check()
    }

    func failDisk(_ kind: UInt8, after wait: UInt8) {
        ground.failDisk(UInt32(kind), after: UInt32(wait))
    }

    func failRecords(after calls: UInt8) {
        ground.failRecords(after: UInt32(calls))
    }

    func mend() {
        ground.mend()
    }

    /// From now on the server accepts no new uploads.
    func stop() {
        ground.server?.intake.isStopping.store(true, ordering: .relaxed)
    }

    func restart(cuttingPower: Bool) throws(Finding) {
        // A file that got its name before the process ends keeps the name.
        try noteNames()
        ground.kill()
        endLines()
        do {
            try ground.start(cuttingPower: cuttingPower)
        } catch {
            throw Finding("The server cannot be started again: \(error).")
        }
        try check()
    }

    /// Closes all connections: no leftovers may remain, and the next server works.
    func finish() throws(Finding) {
        ground.mend()
        endLines()
        try check()
        if let multiparts = ground.server?.intake.multiparts {
            multiparts.letGo(desertedUpTo: .max)
            try require(multiparts.isEmpty, "Uploads in parts are under way that nobody works on.")
        }
        try restart(cuttingPower: false)
        try serveSomebodyElse()
    }

    private func endLines() {
        for line in lines { line?.server.end() }
        lines = Array(repeating: nil, count: Self.lineCount)
    }

    private func serveSomebodyElse() throws(Finding) {
        guard let server = ground.server else { return }
        let end = connect(0, server)
        var frames: [UInt8] = []
        let content: [UInt8] = [1, 2, 3]
        let id = UploadID(high: 9, low: 9)
        Message.hello(Hello(agent: "probe")).encode(into: &frames)
        Message.begin(Begin(id: id, path: "probe", size: 3)).encode(into: &frames)
        FrameHeader(.data, bodyLength: 3).encode(into: &frames)
        frames += content
        Message.end(End(size: 3, digest: SimulatedGround.digest(of: content, .xxh128))).encode(into: &frames)
        var client = ScriptedClient()
        let answers = try client.hear(end.receive(frames))
        end.end()
        let isStored = answers.contains { answer in
            if case .result(let result) = answer { result.code == .committed } else { false }
        }
        try require(isStored, "The server no longer serves: \(answers).")
    }

    // MARK: Connections

    /// The connection with this index, which is made if it does not exist.
    private func line(_ index: Int) throws(Finding) -> Line? {
        if let line = lines[index] { return line }
        if ground.isDead { try restart(cuttingPower: false) }
        guard let server = ground.server else { return nil }
        let line = Line(server: connect(index, server))
        lines[index] = line
        return line
    }

    private func connect(_ index: Int, _ server: SimulatedGround.Server) -> DirectConversation {
        connections += 1
        let account = Account()
        accounts[index] = account
        return DirectConversation(server, number: connections, Caller.simulated[index % 2]) { [declared] message in
            switch message {
            case .begin(let begin): account.owes(.init(path: begin.path), for: begin.id)
            case .resume(let begin): account.owes(.init(path: begin.path, isQuestion: true), for: begin.id)
            case .lookup(let lookup): for id in lookup.ids { account.owes(.init(), for: id) }
            case .end(let end): declared.ends.insert(Declared(size: end.size, digest: end.digest))
            case .list(let list): account.owes(request: list.id)
            case .fetch(let fetch): account.owes(request: fetch.id)
            case .remove(let remove):
                account.owes(request: remove.id)
                declared.removes = true
            default: break
            }
        }
    }

    private func deliver(_ index: Int) throws(Finding) {
        guard var line = lines[index] else { return }
        let answers = try line.server.receive(line.client.takeSaid())
        // The client does not receive answers of a dead process.
        guard !ground.isDead else { return try restart(cuttingPower: false) }
        try noteNames()
        for message in try line.client.hear(answers) { try judge(message, line, accounts[index]) }
        lines[index] = line
        try check()
        guard !line.server.hasEnded else { return try close(index) }
        let open = line.server.isReceiving ? 1 : 0
        try require(
            accounts[index].unanswered.count <= open && accounts[index].owesNoRequest,
            "Nothing is left to do, and \(accounts[index].unanswered) have no answer.")
    }

    // MARK: Judging

    private func judge(_ message: Message, _ line: Line, _ account: Account) throws(Finding) {
        switch message {
        case .result(let result): try judge(result, line, account)
        case .accept(let id): account.accepted(id)
        case .unknown(let ids): for id in ids { _ = account.answered(id) }
        case .file(let file): account.fetched = file.id
        case .end: try judge(answered: account.fetched, account)
        case .outcome(let outcome): try judge(answered: outcome.id, account)
        default: break
        }
    }

    private func judge(answered id: UInt32?, _ account: Account) throws(Finding) {
        let wasOwed = id.map(account.answered(request:)) ?? false
        try require(wasOwed, "An answer that nobody waits for.")
        account.fetched = nil
    }

    private func judge(_ result: UploadResult, _ line: Line, _ account: Account) throws(Finding) {
        guard result.id != .none else {
            return try require(line.server.hasEnded, "A fault, and the connection goes on.")
        }
        guard let owed = account.answered(result.id) else {
            throw Finding("Upload \(result.id) has a result that nobody waits for.")
        }
        guard result.isAcknowledgement, result.isDurable, let digest = result.digest,
            let path = result.storedPath ?? owed.path
        else { return }
        try keeping { try ground.acknowledged(digest, size: result.size, at: path) }
    }

    private func check() throws(Finding) {
        try noteNames()
        try keeping { try ground.check() }
    }

    private func noteNames() throws(Finding) {
        try keeping {
            try ground.noteNames(removes: declared.removes) { content in
                DigestFunction.allCases.contains { function in
                    let digest = SimulatedGround.digest(of: content, function)
                    return declared.ends.contains(Declared(size: UInt64(content.count), digest: digest))
                }
            }
        }
    }

    private func keeping(_ body: () throws -> Void) throws(Finding) {
        do {
            try body()
        } catch {
            throw Finding("A promise is broken: \(error).")
        }
    }
}
