import TransferModel
import TransferProtocol
import TransferTestSupport

/// Random steps of a few uploads over several connections that come and go: questions, whole uploads, parts and ends,
/// with numbers that match or not. The server has to answer each step by the ID of the upload.
struct UploadWalk {
    private struct Connection {
        let client: RawClient
        /// The upload that the connection has begun.
        var open: Begin?
    }

    private static let block = UInt64(Limits.blockSize)

    /// Bytes of each block of every upload, so that the content of any part is known.
    private static let pattern = SplitMix64.bytes(seed: 71, Limits.blockSize)

    /// Sizes at the limits of blocks and number types.
    private static let edges: [UInt64?] = [
        nil, 0, 1, 5, block - 1, block, block + 1, 2 * block, 10 * block + 5, 1 << 32, UInt64(Int64.max) - 1,
        UInt64(Int64.max), 1 << 63, .max - block, .max - 1, .max,
    ]

    /// Sizes that fit one upload.
    private static let usual: [UInt64?] = [nil, nil, 5, block, block + 5, 2 * block, 11 * block]

    private let server: TestServer
    private let ids: [UploadID]
    private var generator: SplitMix64
    private var connections: [Connection?] = [nil, nil, nil]

    /// - Parameters:
    ///   - ids: IDs of the uploads.
    ///   - seed: seed of all random choices.
    init(_ server: TestServer, _ ids: [UploadID], seed: UInt64) {
        (self.server, self.ids) = (server, ids)
        generator = SplitMix64(seed: seed)
    }

    mutating func step() throws {
        let number = Int.random(in: connections.indices, using: &generator)
        guard Int.random(in: 0..<12, using: &generator) > 0 else { return connections[number] = nil }
        var connection = try connections[number] ?? Connection(client: try server.greetedClient())
        let goesOn =
            if let begin = connection.open {
                try goOn(&connection, begin)
            } else if Int.random(in: 0..<4, using: &generator) == 0 {
                try ask(connection.client)
            } else {
                begin(&connection)
            }
        connections[number] = goesOn ? connection : nil
    }

    // MARK: Steps

    /// - Returns: whether the connection is still open.
    private mutating func ask(_ client: RawClient) throws -> Bool {
        let id = chooseID()
        let question = Begin(id: id, path: "a", size: chooseSize(), digest: .xxh128, scope: .multipart)
        client.send(.resume(question))
        return try answer(to: question, client, isQuestion: true)
    }

    private mutating func begin(_ connection: inout Connection) -> Bool {
        let begin = chooseBegin()
        connection.client.send(.begin(begin))
        connection.open = begin
        return true
    }

    private mutating func goOn(_ connection: inout Connection, _ begin: Begin) throws -> Bool {
        let size = begin.scope == .multipart ? 0 : min(begin.size ?? Self.block, 2 * Self.block)
        let isExact = Int.random(in: 0..<4, using: &generator) > 0
        let count = Int(isExact ? size : UInt64.random(in: 0...size, using: &generator))
        let content = Self.content(count)
        connection.client.send(Frames.stored(content))
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: return false
        case 1: connection.client.send(.abort)
        default:
            let total = begin.scope == .multipart ? begin.size ?? 0 : UInt64(count)
            let digest = Frames.digest(total <= 2 * Self.block ? Self.content(Int(total)) : content)
            connection.client.send(.end(End(size: total, digest: digest)))
        }
        connection.open = nil
        return try answer(to: begin, connection.client)
    }

    private mutating func answer(to begin: Begin, _ client: RawClient, isQuestion: Bool = false) throws -> Bool {
        while true {
            switch try client.answer() {
            case .accept(begin.id): if isQuestion { return true }
            case .have(let have) where have.id == begin.id: break
            case .result(let result) where result.id == begin.id:
                try check(result, of: begin)
                return true
            case .result(let result) where result.id == .none && result.code.class == .protocol: return false
            case let other: throw RawClient.Failure(description: "\(other) to \(begin)")
            }
        }
    }

    private func check(_ result: UploadResult, of begin: Begin) throws {
        guard ResultCode.all.contains(where: { $0.code == result.code }) else {
            throw RawClient.Failure(description: "\(result) to \(begin)")
        }
        guard result.isAcknowledgement else { return }
        let stored = server.content(result.storedPath ?? begin.path)
        guard stored == Self.content(Int(result.size)) else {
            throw RawClient.Failure(description: "\(stored?.count ?? -1) bytes are stored after \(result)")
        }
    }

    // MARK: Choices

    private static func content(_ count: Int) -> [UInt8] {
        var content: [UInt8] = []
        while content.count < count { content += pattern.prefix(count - content.count) }
        return content
    }

    private mutating func chooseID() -> UploadID { ids[Int.random(in: ids.indices, using: &generator)] }

    private mutating func chooseSize() -> UInt64? {
        let sizes = Int.random(in: 0..<4, using: &generator) == 0 ? Self.edges : Self.usual
        return sizes[Int.random(in: sizes.indices, using: &generator)]
    }

    private mutating func chooseBegin() -> Begin {
        let mayEnd = Bool.random(using: &generator)
        let id = chooseID()
        switch Int.random(in: 0..<8, using: &generator) {
        case 0:
            return Begin(id: id, path: "a", size: chooseSize(), conflict: .overwrite, expectsAccept: mayEnd)
        case 1, 2:
            return Begin(id: id, path: "a", size: chooseSize() ?? 0, expectsAccept: mayEnd, scope: .multipart)
        default:
            let total = chooseSize()
            let offset = chooseOffset()
            let size = chooseLength(offset, total)
            let part = Begin.Part(of: id, offset: offset, total: total)
            return Begin(
                id: .random(using: &generator), path: "a", size: size, expectsAccept: mayEnd, scope: .part(part))
        }
    }

    private mutating func chooseOffset() -> UInt64 {
        let isUsual = Int.random(in: 0..<8, using: &generator) > 0
        return isUsual ? [0, 0, 1, 10].randomElement(using: &generator, times: Self.block) : chooseSize() ?? 0
    }

    /// - Returns: mostly the size of a block, or of the rest of the upload.
    private mutating func chooseLength(_ offset: UInt64, _ total: UInt64?) -> UInt64? {
        guard Int.random(in: 0..<8, using: &generator) > 0 else { return chooseSize() }
        guard let total, total >= offset else { return Self.block }
        return min(total - offset, Self.block)
    }
}

extension [UInt64] {
    fileprivate func randomElement(using generator: inout SplitMix64, times factor: UInt64) -> UInt64 {
        self[Int.random(in: indices, using: &generator)] * factor
    }
}
