internal import COpenSSL

/// One TLS conversation, without the connection: ciphertext is given and taken in memory of the caller, and nothing here
/// waits. Belongs to whoever is isolated to its connection's loop.
package final class TLSSession {
    /// How far a call came.
    package enum Step: Equatable {
        case done
        /// The other side closed its direction in order.
        case closed
        /// More ciphertext is needed.
        case needsInput
        /// There is no more room for ciphertext.
        case needsRoom
    }

    package let context: TLSContext
    private let raw: OpaquePointer
    private let wire: UnsafeMutablePointer<copenssl_wire>
    private let judgement: TLSJudge?
    private var wasRefused = false
    /// Records under the keys of now, of either direction.
    private var writtenRecords = 0
    private var readRecords = 0

    /// The only one needed, for ever.
    ///
    /// Never changed after it was made.
    private nonisolated(unsafe) static let method = copenssl_wire_method()

    /// - Parameters:
    ///   - name: of the server that a client means; a name or an address in digits.
    ///   - judge: whether a client takes the server for the right one.
    /// - Throws: when memory has run out, or the name cannot be asked for.
    package init(_ context: TLSContext, name: String? = nil, judge: TLSJudge? = nil) throws(TLSFault) {
        guard let raw = SSL_new(context.raw) else { throw .taken() }
        self.context = context
        self.raw = raw
        judgement = judge
        wire = .allocate(capacity: 1)
        wire.initialize(to: copenssl_wire())
        guard SSL_set_ex_data(raw, 0, Unmanaged.passUnretained(self).toOpaque()) == 1, let method = Self.method,
            let bio = copenssl_wire_bio(method, wire)
        else { throw .taken() }
        // One reference for both directions (SSL_set_bio(3)).
        SSL_set_bio(raw, bio, bio)
        switch context.side {
        case .server: SSL_set_accept_state(raw)
        case .client:
            SSL_set_connect_state(raw)
            if let name { try expect(name) }
            // Without it the handshake is a whole one.
            if let ticket = context.latestTicket { SSL_set_session(raw, ticket.raw) }
        }
    }

    deinit {
        SSL_free(raw)
        wire.deallocate()
    }

    /// A server may have many certificates, and is told by name which one is wanted, unless that is an address
    /// (RFC 6066, section 3).
    private func expect(_ name: String) throws(TLSFault) {
        // OpenSSL would take what is before the zero for the name.
        guard !name.utf8.contains(0) else { throw .broken("the server's name has a zero byte") }
        let parameters = SSL_get0_param(raw)
        guard X509_VERIFY_PARAM_set1_ip_asc(parameters, name) != 1 else { return }
        ERR_clear_error()
        // Otherwise any name would do.
        guard copenssl_set_server_name(raw, name) == 1, SSL_set1_host(raw, name) == 1 else { throw .taken() }
    }

    // MARK: Ciphertext

    /// What there is to read; stays the caller's, and is taken as far as `unread` says.
    package func setInput(_ bytes: UnsafeRawBufferPointer) {
        wire.pointee.input = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        wire.pointee.input_count = bytes.count
    }

    /// Bytes of input that no call has taken yet.
    package var unread: Int { wire.pointee.input_count }

    /// Where to write; stays the caller's.
    package func setOutput(_ room: UnsafeMutableRawBufferPointer) {
        wire.pointee.output = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
        wire.pointee.output_count = 0
        wire.pointee.output_capacity = room.count
    }

    /// Bytes written to the room.
    package var written: Int { wire.pointee.output_count }

    // MARK: Conversation

    /// Goes on with the handshake.
    package func handshake() throws(TLSFault) -> Step {
        try step { SSL_do_handshake(raw) }
    }

    /// Decrypts record after record into `target`, until it is full or something else has to happen first.
    ///
    /// - Parameter count: bytes that are there; raised also by a call that throws.
    /// - Returns: `done` when `target` is full.
    package func read(into target: UnsafeMutableRawBufferPointer, _ count: inout Int) throws(TLSFault) -> Step {
        while count < target.count {
            // A side that keeps to its own part has renewed them long before.
            if readRecords / 2 >= context.recordsPerKey { renewKeys(ofBoth: true) }
            // Trap: SSL_read_ex(3) gives no more than there was room for.
            let rest = UnsafeMutableRawBufferPointer(rebasing: target[count...])
            var found = 0
            let step = try step { SSL_read_ex(raw, rest.baseAddress, rest.count, &found) }
            count += found
            guard step == .done else { return step }
            readRecords += 1
        }
        return .done
    }

    /// Encrypts `bytes`, of which there must be some, into records of 16 KiB. There must be room for all of them.
    ///
    /// - Returns: `done` when all is written; `needsInput` when nothing is, because the other side has begun a message and
    ///   has to end it first.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(TLSFault) -> Step {
        if writtenRecords >= context.recordsPerKey { renewKeys(ofBoth: false) }
        var count = 0
        let step = try step { SSL_write_ex(raw, bytes.baseAddress, bytes.count, &count) }
        switch step {
        case .done where count == bytes.count:
            writtenRecords += (count - 1) / CiphertextBuffers.recordSize + 1
            return .done
        case .needsInput: return .needsInput
        case .closed: throw .broken("the other side ended inside a message")
        case .done, .needsRoom: throw .broken("a part was written, and no more can be")
        }
    }

    /// The next call says that records have new keys from then on. Inside a message that came by half it cannot be said; then
    /// it is tried again with the next record.
    ///
    /// - Parameter ofBoth: the other side is asked to do the same.
    private func renewKeys(ofBoth: Bool) {
        // Behind the end nothing more is said.
        guard SSL_get_shutdown(raw) & SSL_SENT_SHUTDOWN == 0 else { return }
        guard SSL_key_update(raw, ofBoth ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED) == 1 else {
            return ERR_clear_error()
        }
        writtenRecords = 0
        if ofBoth { readRecords = 0 }
    }

    /// Gives back the memory of a record that is neither half received nor half sent; the next one takes it again.
    package func freeBuffers() {
        _ = SSL_free_buffers(raw)
    }

    /// Says that no more will come.
    package func close() {
        guard SSL_is_init_finished(raw) == 1 else { return }
        ERR_clear_error()
        SSL_shutdown(raw)
        ERR_clear_error()
    }

    private func step(_ call: () -> Int32) throws(TLSFault) -> Step {
        // SSL_get_error(3) asks for an empty queue. It nearly always is, and to clear it costs more than to look.
        if ERR_peek_error() != 0 { ERR_clear_error() }
        let status = call()
        guard status != 1 else { return .done }
        switch SSL_get_error(raw, status) {
        case SSL_ERROR_WANT_READ: return .needsInput
        case SSL_ERROR_WANT_WRITE: return .needsRoom
        case SSL_ERROR_ZERO_RETURN: return .closed
        default:
            guard !wasRefused else {
                ERR_clear_error()
                throw .untrusted
            }
            throw .taken()
        }
    }

    // MARK: Facts

    /// The key in the other side's certificate, once the handshake is done; nothing when it has shown none.
    package var peerKey: TLSKey? {
        SSL_get0_peer_certificate(raw).flatMap { TLSKey(certificate: $0) }
    }

    /// The identity that the other side's certificate is bound to, or else the key in it.
    package var peerIdentity: TLSKey? {
        SSL_get0_peer_certificate(raw).flatMap { TLSKey(identityOf: $0) ?? TLSKey(certificate: $0) }
    }

    /// Bytes that both sides of this conversation know and no other conversation has: `tls-exporter` of RFC 9266. Nil before the
    /// handshake is done.
    package var channelBinding: [UInt8]? {
        guard SSL_is_init_finished(raw) == 1 else { return nil }
        // RFC 9266, section 4: this label, an empty context, 32 bytes.
        let label = "EXPORTER-Channel-Binding"
        var binding = [UInt8](repeating: 0, count: 32)
        let status = SSL_export_keying_material(raw, &binding, binding.count, label, label.utf8.count, nil, 0, 1)
        guard status == 1 else {
            ERR_clear_error()
            return nil
        }
        return binding
    }

    /// Whether it goes on from an earlier conversation.
    package var isResumed: Bool { SSL_session_reused(raw) == 1 }

    /// What both sides agreed to run above TLS (RFC 7301); nothing where the client offers none.
    package var protocolName: String? {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(raw, &name, &length)
        return name.map { String(decoding: UnsafeBufferPointer(start: $0, count: Int(length)), as: UTF8.self) }
    }

    /// The name of the cipher, as the IANA registered it.
    package var cipher: String {
        SSL_CIPHER_standard_name(SSL_get_current_cipher(raw)).map { String(cString: $0) } ?? "none"
    }

    // MARK: Callbacks

    /// The session of OpenSSL's handle. Called back by OpenSSL only within a call that the session makes.
    static func of(_ raw: OpaquePointer?) -> TLSSession? {
        raw.flatMap { SSL_get_ex_data($0, 0) }.map { Unmanaged<TLSSession>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The session whose other side's certificate is being looked at.
    static func verifying(_ store: OpaquePointer) -> TLSSession? {
        of(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()).map { OpaquePointer($0) })
    }

    func judge(_ store: OpaquePointer) -> Bool {
        // A certificate for browsers stands for the identity that it is bound to.
        let key = X509_STORE_CTX_get0_cert(store).flatMap { TLSKey(identityOf: $0) ?? TLSKey(certificate: $0) }
        let isTrusted = key.map { key in judgement?(key) { context.problem(store) } ?? false } ?? false
        wasRefused = !isTrusted
        return isTrusted
    }
}
