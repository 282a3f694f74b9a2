package import TransferModel

/// The client's first frame: its name, token and features.
package struct Hello: Equatable, Sendable {
    /// Features that the client wants or can use. Bits that this program does not know are kept.
    package var features: Features = []

    /// The program and its version, for logs.
    package var agent: String

    /// Random number of the push, the same on all connections of one push.
    package var run: UInt64?

    /// The client's secret token, up to `tokenSize` bytes; nil without one.
    package var token: String?

    /// Name of the client's machine; empty if it gives none.
    package var clientName: String

    /// Most bytes of a token.
    package static let tokenSize = 128

    package init(
        agent: String, features: Features = [], run: UInt64? = nil, token: String? = nil, clientName: String = ""
    ) {
        self.agent = agent
        self.features = features
        self.run = run
        self.token = token
        self.clientName = clientName
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        features = Features(rawValue: try reader.integer(UInt32.self))
        let fields = try reader.fields(known: [.agent, .run, .token, .clientName])
        agent = fields.text(.agent)
        clientName = fields.text(.clientName)
        token = try fields[.token].map { (bytes) throws(ProtocolFault) in
            guard bytes.count <= Self.tokenSize, let text = String(validating: bytes, as: UTF8.self) else {
                throw .malformed("The token field must be text of up to \(Self.tokenSize) bytes.")
            }
            return text
        }
        run = try fields.longNumber(.run)
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: features.rawValue)
        bytes.append(field: .agent, text: agent)
        if let run { bytes.append(field: .run, Swift.withUnsafeBytes(of: run.bigEndian) { Array($0) }) }
        if let token { bytes.append(field: .token, token.utf8.prefix(Self.tokenSize)) }
        bytes.append(field: .clientName, text: clientName)
    }
}

/// The server's first frame: the limits and features of this connection.
package struct Welcome: Equatable, Sendable {
    /// Features that the server supports.
    package var features: Features

    /// Most bytes of a `data` body to the server.
    package var dataBody: UInt32

    /// Most uploads without a result.
    package var unacknowledgedUploads: UInt32

    /// Most bytes of one upload.
    package var uploadSize: UInt64

    /// Milliseconds after which a side that has sent no bytes sends a ping.
    package var heartbeat: UInt32

    /// Milliseconds of silence after which a side disconnects its peer.
    package var silence: UInt32

    package var agent: String
    package var serverName: String

    /// Seconds for which the server keeps unfinished uploads; nil if it doesn't say.
    package var keeps: UInt32?

    /// The public key of the server's receipts, `serverKeySize` bytes; nil if the server signs no receipts. This is
    /// only a claim: any server can name another server's key.
    package var serverKey: [UInt8]?

    /// A signature over TLS that proves that the server owns `serverKey`, `serverKeyProofSize` bytes; nil if the server
    /// sends no proof.
    package var serverKeyProof: [UInt8]?

    /// Identifier of the server's directory on its machine, `directorySize` bytes, by which a client on the same
    /// machine recognises the directory; nil if the server doesn't say.
    package var directory: [UInt8]?

    /// Bytes of `directory`: an XXH3-128 digest.
    package static let directorySize = 16

    /// Bytes of a public key: Ed25519 (RFC 8032, section 5.1.5).
    package static let serverKeySize = 32

    /// Bytes of a signature: Ed25519 (RFC 8032, section 5.1.6).
    package static let serverKeyProofSize = 64

    package init(
        dataBody: Int = Limits.dataBody, unacknowledgedUploads: Int = Limits.unacknowledgedUploads,
        uploadSize: UInt64 = Limits.uploadSize, heartbeat: UInt32 = 5_000, silence: UInt32 = 20_000,
        agent: String = "", serverName: String = "", keeps: UInt32? = nil, serverKey: [UInt8]? = nil,
        serverKeyProof: [UInt8]? = nil, directory: [UInt8]? = nil, features: Features = []
    ) {
        self.features = features
        self.dataBody = UInt32(dataBody)
        self.unacknowledgedUploads = UInt32(unacknowledgedUploads)
        self.uploadSize = uploadSize
        self.heartbeat = heartbeat
        self.silence = silence
        self.agent = agent
        self.serverName = serverName
        self.keeps = keeps
        self.serverKey = serverKey
        self.serverKeyProof = serverKeyProof
        self.directory = directory
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        features = Features(rawValue: try reader.integer(UInt32.self))
        dataBody = try reader.integer(UInt32.self)
        unacknowledgedUploads = try reader.integer(UInt32.self)
        uploadSize = try reader.integer(UInt64.self)
        heartbeat = try reader.integer(UInt32.self)
        silence = try reader.integer(UInt32.self)
        let fields = try reader.fields(known: [.agent, .serverName, .keeps, .serverKey, .directory, .serverKeyProof])
        agent = fields.text(.agent)
        serverName = fields.text(.serverName)
        keeps = try fields.number(.keeps)
        serverKey = fields[.serverKey]
        guard serverKey?.count ?? Self.serverKeySize == Self.serverKeySize else {
            throw .malformed("The server key field must have \(Self.serverKeySize) bytes.")
        }
        serverKeyProof = fields[.serverKeyProof]
        guard serverKeyProof?.count ?? Self.serverKeyProofSize == Self.serverKeyProofSize else {
            throw .malformed("The server key proof field must have \(Self.serverKeyProofSize) bytes.")
        }
        directory = fields[.directory]
        guard directory?.count ?? Self.directorySize == Self.directorySize else {
            throw .malformed("The directory field must have \(Self.directorySize) bytes.")
        }
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: features.rawValue)
        bytes.append(bigEndian: dataBody)
        bytes.append(bigEndian: unacknowledgedUploads)
        bytes.append(bigEndian: uploadSize)
        bytes.append(bigEndian: heartbeat)
        bytes.append(bigEndian: silence)
        bytes.append(field: .agent, text: agent)
        bytes.append(field: .serverName, text: serverName)
        if let keeps { bytes.append(field: .keeps, number: keeps) }
        if let serverKey { bytes.append(field: .serverKey, serverKey) }
        if let directory { bytes.append(field: .directory, directory) }
        if let serverKeyProof { bytes.append(field: .serverKeyProof, serverKeyProof) }
    }
}

/// The last frame of a side that ends the connection in order.
package struct Goodbye: Equatable, Sendable {
    /// The reason: `committed` if everything is done; `shuttingDown`, `timedOut` or `busy` from a server that has to
    /// close.
    package var code: ResultCode
    package var message: String

    package init(_ code: ResultCode, _ message: String = "") {
        self.code = code
        self.message = message
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        code = ResultCode(rawValue: try reader.integer(UInt16.self))
        message = try reader.fields(known: [.message]).text(.message)
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: code.rawValue)
        bytes.append(field: .message, text: message)
    }
}

/// Optional features that a side supports or wants.
package struct Features: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// In `hello`: the client wants a receipt for every acknowledgement, and accepts `receipts` frames.
    package static let receipts = Features(rawValue: 1)

    /// In `welcome`: the server answers `list`, `fetch` and `remove`.
    package static let files = Features(rawValue: 2)

    /// In `welcome`: the client has a name and a mailbox on this server, and may send to other people.
    package static let mail = Features(rawValue: 4)

    /// In `welcome`: the server answers `compare`.
    package static let folders = Features(rawValue: 32)

    /// In `welcome`: the server accepts parts that are a piece of a block.
    package static let pieces = Features(rawValue: 64)

    /// In `welcome`: the server answers `make` and `move`, keeps a trash, and preserves and lists attributes of files
    /// and folders.
    package static let trees = Features(rawValue: 128)

    /// In `welcome`: the server can set the owners that this client sends.
    package static let owners = Features(rawValue: 256)

    /// In `welcome` and `hello`: the sender accepts `data` compressed with zstd.
    package static let zstd = Features(rawValue: 8)

    /// In `hello`: the client accepts `data` compressed with zlib. A server always does.
    package static let zlib = Features(rawValue: 16)

    /// In `welcome` and `hello`: the sender accepts `data` that is a hole.
    package static let holes = Features(rawValue: 512)

    /// In `welcome`: removed files go to the trash even if the request does not ask for it.
    package static let trashes = Features(rawValue: 1024)

    /// In `welcome`: the server accepts `version` in `begin`.
    package static let versions = Features(rawValue: 2048)

    /// In `welcome`: the server decodes pictures, and answers `list` about one with what it has found out.
    package static let pictures = Features(rawValue: 4096)

    /// In `welcome`: the server stores each part as an object, so parts of four blocks are better than shorter ones.
    package static let objects = Features(rawValue: 8192)

    /// Encodings in these features that the other side may use for `data`.
    package var encodings: Set<BodyEncoding> {
        var encodings: Set<BodyEncoding> = []
        if contains(.zlib) { encodings.insert(.zlib) }
        if contains(.zstd) { encodings.insert(.zstd) }
        if contains(.holes) { encodings.insert(.hole) }
        return encodings
    }
}
