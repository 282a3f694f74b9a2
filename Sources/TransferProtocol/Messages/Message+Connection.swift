package import TransferModel

/// The client's first frame.
package struct Hello: Equatable, Sendable {
    /// Bits for what the sender wants beyond the basics; those that aren't known are kept.
    package var features: Features = []

    /// The program and its version, for logs.
    package var agent: String

    /// The push that the connection is part of: the same number on all of its connections, and by chance on no other.
    package var run: UInt64?

    /// What the client shows to be let in, up to `tokenSize` bytes; a secret.
    package var token: String?

    /// What the client calls its machine; empty when it doesn't say.
    package var clientName: String

    /// Bytes of the longest token.
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

/// The server's first frame: what it allows on this connection.
package struct Welcome: Equatable, Sendable {
    /// What the server can do beyond the basics.
    package var features: Features

    /// Bytes of the largest `data` body that the server takes.
    package var dataBody: UInt32

    /// Uploads that may be begun without a result.
    package var unacknowledgedUploads: UInt32

    /// Bytes of the largest upload that the server takes.
    package var uploadSize: UInt64

    /// Milliseconds after which a side that has sent nothing sends a ping.
    package var heartbeat: UInt32

    /// Milliseconds of silence after which the peer is given up.
    package var silence: UInt32

    package var agent: String
    package var serverName: String

    /// Seconds for which the server keeps what has arrived of an unfinished upload; nothing when it doesn't say.
    package var keeps: UInt32?

    /// The public key that the server signs receipts with, `serverKeySize` bytes; nothing when it gives none. A claim: any server
    /// can name the key of any other.
    package var serverKey: [UInt8]?

    /// Shows over TLS that it is the server's own, `serverKeyProofSize` bytes; nil where it gives none.
    package var serverKeyProof: [UInt8]?

    /// Which directory of its machine the server stores in, `directorySize` bytes; nil when it does not say. A client on the same
    /// machine recognizes it by that.
    package var directory: [UInt8]?

    /// Bytes of that: an XXH128 digest.
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

/// The last frame of a side that ends the conversation in order.
package struct Goodbye: Equatable, Sendable {
    /// `committed` when all is done; `shuttingDown`, `timedOut` or `busy` from a server that has to go.
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

/// What a side can do, or wants, beyond the basics.
package struct Features: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// In `hello`: the client wants a receipt for every acknowledgement, and takes `receipts` frames.
    package static let receipts = Features(rawValue: 1)

    /// In `welcome`: the server answers `list`, `fetch` and `remove`.
    package static let files = Features(rawValue: 2)

    /// In `welcome`: the client has a name here and a mailbox, and may send to others that have one.
    package static let mail = Features(rawValue: 4)

    /// In `welcome`: the server answers `compare`.
    package static let folders = Features(rawValue: 32)

    /// In `welcome`: the server takes parts that are a piece of a block.
    package static let pieces = Features(rawValue: 64)

    /// In `welcome`: the server answers `make` and `move`, keeps a trash, and takes and tells what files and folders have
    /// beside their content.
    package static let trees = Features(rawValue: 128)

    /// In `welcome`: the server can give files the owners that this client says.
    package static let owners = Features(rawValue: 256)

    /// In `welcome` and `hello`: the sender takes `data` that is compressed with zstd.
    package static let zstd = Features(rawValue: 8)

    /// In `hello`: the client takes `data` that is compressed with zlib. A server does in any case.
    package static let zlib = Features(rawValue: 16)

    /// In `welcome` and `hello`: the sender takes `data` that is a hole.
    package static let holes = Features(rawValue: 512)

    /// In `welcome`: what is removed goes to the trash, also where nobody asks for that.
    package static let trashes = Features(rawValue: 1024)

    /// In `welcome`: the server takes `version` in `begin`.
    package static let versions = Features(rawValue: 2048)

    /// What the other side may send `data` as, of what has to be agreed on.
    package var encodings: Set<BodyEncoding> {
        var encodings: Set<BodyEncoding> = []
        if contains(.zlib) { encodings.insert(.zlib) }
        if contains(.zstd) { encodings.insert(.zstd) }
        if contains(.holes) { encodings.insert(.hole) }
        return encodings
    }
}
