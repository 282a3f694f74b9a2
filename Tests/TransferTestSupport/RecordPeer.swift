internal import COpenSSL

/// One end of a TLS 1.3 connection. OpenSSL performs the handshake; after that, the peer seals and opens records
/// itself. So it can send what no library would send: incomplete messages and unknown kinds, in any order and split
/// anywhere.
package final class RecordPeer {
    package struct Failure: Error {
        package let what: String
    }

    /// The type of a record's content (RFC 8446, section 5.1).
    package enum Kind {
        package static let alert: UInt8 = 21
        package static let handshake: UInt8 = 22
        package static let content: UInt8 = 23
    }

    package enum Side {
        case server, client
    }

    /// The number of bytes in a record's header.
    private static let headerSize = 5

    private let raw: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer
    /// The secrets by their names in the key log.
    private var secrets: [String: [UInt8]] = [:]
    private var sending: TrafficKeys?
    private var receiving: TrafficKeys?
    /// Received bytes that are not opened yet.
    private var unopened: ArraySlice<UInt8> = []
    private let side: Side

    package init(_ side: Side) throws {
        self.side = side
        let context = try side == .server ? RecordPeerContext.server.get() : RecordPeerContext.client.get()
        guard let raw = SSL_new(context.raw), let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem()) else {
            throw Failure(what: "no memory")
        }
        (self.raw, self.input, self.output) = (raw, input, output)
        // From here on, the session owns and frees both.
        SSL_set_bio(raw, input, output)
        SSL_set_ex_data(raw, 0, Unmanaged.passUnretained(self).toOpaque())
        side == .server ? SSL_set_accept_state(raw) : SSL_set_connect_state(raw)
    }

    deinit {
        SSL_free(raw)
    }

    // MARK: Handshake

    package var isEstablished: Bool { sending != nil }

    /// - Returns: the bytes to send.
    package func shake(_ received: some Collection<UInt8> = []) throws -> [UInt8] {
        guard !isEstablished else {
            unopened += received
            return []
        }
        let bytes = Array(received)
        if !bytes.isEmpty { BIO_write(input, bytes, Int32(bytes.count)) }
        ERR_clear_error()
        if SSL_do_handshake(raw) == 1 {
            unopened += Self.drain(input)
            try takeKeys()
        } else if ERR_peek_error() != 0 {
            throw Failure(what: ERR_reason_error_string(ERR_get_error()).map { String(cString: $0) } ?? "no handshake")
        }
        return Self.drain(output)
    }

    private static func drain(_ file: OpaquePointer) -> [UInt8] {
        var (bytes, piece): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 16 << 10))
        while case let count = BIO_read(file, &piece, Int32(piece.count)), count > 0 { bytes += piece[..<Int(count)] }
        return bytes
    }

    private func takeKeys() throws {
        guard let client = secrets["CLIENT_TRAFFIC_SECRET_0"], let server = secrets["SERVER_TRAFFIC_SECRET_0"] else {
            throw Failure(what: "no keys were told")
        }
        sending = TrafficKeys(side == .client ? client : server)
        receiving = TrafficKeys(side == .client ? server : client)
    }

    /// Reads a line of the key log: a name, the client's random number, the secret.
    fileprivate func learn(_ line: String) {
        let words = line.split(separator: " ")
        guard words.count == 3 else { return }
        let digits = Array(words[2].utf8).map { UInt8($0 > 57 ? $0 - 87 : $0 - 48) }
        secrets[String(words[0])] = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    fileprivate static func of(_ raw: OpaquePointer?) -> RecordPeer? {
        raw.flatMap { SSL_get_ex_data($0, 0) }.map { Unmanaged<RecordPeer>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: Records

    /// Seals one record with exactly this content, even if the protocol forbids it. The handshake has to be complete.
    package func seal(_ kind: UInt8, _ content: some Collection<UInt8>) throws -> [UInt8] {
        guard let record = sending?.seal(kind, Array(content)) else { throw Failure(what: "no keys yet") }
        return record
    }

    /// Seals all later records with the next keys, as after a KeyUpdate.
    package func renew() {
        sending?.renew()
    }

    /// Opens all complete records. After a KeyUpdate, the next records are opened with the other side's next keys.
    package func open(_ received: some Collection<UInt8> = []) throws -> [(kind: UInt8, content: [UInt8])] {
        unopened += received
        var opened: [(kind: UInt8, content: [UInt8])] = []
        while let record = nextRecord() {
            guard let found = receiving?.open(record) else { throw Failure(what: "a record that cannot be opened") }
            if found.kind == Kind.handshake, found.content.first == HandshakeMessage.keyUpdate { receiving?.renew() }
            opened.append(found)
        }
        return opened
    }

    /// The application data in the records.
    package func content(_ received: some Collection<UInt8> = []) throws -> [UInt8] {
        try open(received).filter { $0.kind == Kind.content }.flatMap(\.content)
    }

    private func nextRecord() -> [UInt8]? {
        guard unopened.count >= Self.headerSize else { return nil }
        let start = unopened.startIndex
        let count = Self.headerSize + Int(unopened[start + 3]) << 8 + Int(unopened[start + 4])
        guard unopened.count >= count else { return nil }
        defer { unopened = unopened.dropFirst(count) }
        return Array(unopened.prefix(count))
    }
}

/// The OpenSSL context that all peers of one side share. It is not changed after it was made, and never freed.
private struct RecordPeerContext: @unchecked Sendable {
    static let server = Result { try RecordPeerContext(TLS_server_method()).shown() }
    static let client = Result { try RecordPeerContext(TLS_client_method()).offering() }

    let raw: OpaquePointer

    private init(_ method: OpaquePointer?) throws {
        guard let raw = SSL_CTX_new(method), copenssl_set_protocol(raw, TLS1_3_VERSION) == 1,
            SSL_CTX_set_ciphersuites(raw, "TLS_AES_128_GCM_SHA256") == 1
        else { throw RecordPeer.Failure(what: "no TLS 1.3") }
        self.raw = raw
        // OpenSSL would seal tickets with keys whose records the peer counts itself.
        SSL_CTX_set_num_tickets(raw, 0)
        SSL_CTX_set_keylog_callback(raw) { session, line in
            guard let line else { return }
            RecordPeer.of(session)?.learn(String(cString: line))
        }
    }

    private func shown() throws -> RecordPeerContext {
        let pair = try CertificateAuthority.newPair()
        defer { EVP_PKEY_free(pair) }
        let leaf = try CertificateAuthority.certificate(for: pair, name: "Peer", days: -1...5, serial: 1)
        defer { X509_free(leaf) }
        X509_set_issuer_name(leaf, X509_get_subject_name(leaf))
        guard X509_sign(leaf, pair, EVP_sha256()) > 0, SSL_CTX_use_certificate(raw, leaf) == 1,
            SSL_CTX_use_PrivateKey(raw, pair) == 1
        else { throw RecordPeer.Failure(what: "no certificate") }
        // The list of protocols, with its length in front.
        let list = [0, UInt8(Self.application.count)] + Self.application
        let chosen = UnsafeMutablePointer<UInt8>.allocate(capacity: list.count)
        chosen.initialize(from: list, count: list.count)
        copenssl_choose_protocols(raw, chosen)
        return self
    }

    private func offering() throws -> RecordPeerContext {
        guard SSL_CTX_set_alpn_protos(raw, Self.application, UInt32(Self.application.count)) == 0 else {
            throw RecordPeer.Failure(what: "no application protocol")
        }
        return self
    }

    /// The name of the protocol as ALPN carries it: its length, then its bytes.
    private static let application = [10] + Array("transfer/2".utf8)
}
