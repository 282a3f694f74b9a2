internal import COpenSSL

/// One TLS session, without its connection: ciphertext is exchanged through memory of the caller, and no call waits.
/// Used only on the connection's loop.
package final class TLSSession {
    /// The result of one call.
    package enum Step: Equatable {
        case done
        /// The peer has closed its direction properly.
        case closed
        /// The call needs more ciphertext from the peer.
        case needsInput
        /// There is no room left for ciphertext.
        case needsRoom
    }

    package let context: TLSContext
    private let raw: OpaquePointer
    private let wire: UnsafeMutablePointer<copenssl_wire>
    private let judgement: TLSJudge?
    private var wasRefused = false
    /// Records so far under the present key of each direction.
    private var writtenRecords = 0
    private var readRecords = 0

    /// OpenSSL's methods for all sessions, never freed.
    ///
    /// It is not changed after initialisation.
    private nonisolated(unsafe) static let method = copenssl_wire_method()

    /// - Parameters:
    ///   - name: on a client, the server's name or numeric address.
    ///   - judge: on a client, decides whether the server can be trusted.
    /// - Throws: an error if there is no memory, or the name is invalid.
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
        // One reference to the BIO is enough for both directions (SSL_set_bio(3)).
        SSL_set_bio(raw, bio, bio)
        switch context.side {
        case .server: SSL_set_accept_state(raw)
        case .client:
            SSL_set_connect_state(raw)
            if let name { try expect(name) }
            // Without a ticket, the handshake is a full one.
            if let ticket = context.latestTicket { SSL_set_session(raw, ticket.raw) }
        }
    }

    deinit {
        SSL_free(raw)
        wire.deallocate()
    }

    /// Sends the requested name, unless it is an address (RFC 6066, section 3), because a server may have many
    /// certificates.
    private func expect(_ name: String) throws(TLSFault) {
        // OpenSSL would end the name at the zero byte.
        guard !name.utf8.contains(0) else { throw .broken("the server's name has a zero byte") }
        let parameters = SSL_get0_param(raw)
        guard X509_VERIFY_PARAM_set1_ip_asc(parameters, name) != 1 else { return }
        ERR_clear_error()
        // Without this, a certificate with any name would be accepted.
        guard copenssl_set_server_name(raw, name) == 1, SSL_set1_host(raw, name) == 1 else { throw .taken() }
    }

    // MARK: Ciphertext

    /// Sets the ciphertext to read, which the caller owns; it is consumed up to `unread`.
    package func setInput(_ bytes: UnsafeRawBufferPointer) {
        wire.pointee.input = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        wire.pointee.input_count = bytes.count
    }

    /// Bytes of the input that are not consumed yet.
    package var unread: Int { wire.pointee.input_count }

    /// Sets the memory for ciphertext, which the caller owns.
    package func setOutput(_ room: UnsafeMutableRawBufferPointer) {
        wire.pointee.output = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
        wire.pointee.output_count = 0
        wire.pointee.output_capacity = room.count
    }

    /// Bytes of ciphertext written to that memory.
    package var written: Int { wire.pointee.output_count }

    // MARK: Conversation

    /// Continues the handshake as far as possible.
    package func handshake() throws(TLSFault) -> Step {
        try step { SSL_do_handshake(raw) }
    }

    /// Decrypts records into `target` until it is full or another step is needed.
    ///
    /// - Parameter count: bytes in `target`; increased also by a call that throws.
    /// - Returns: `done` if `target` is full.
    package func read(into target: UnsafeMutableRawBufferPointer, _ count: inout Int) throws(TLSFault) -> Step {
        while count < target.count {
            // A peer that follows the same profile has renewed its keys long before this.
            if readRecords / 2 >= context.recordsPerKey { renewKeys(ofBoth: true) }
            // Trap: SSL_read_ex(3) returns no more bytes than there was room for.
            let rest = UnsafeMutableRawBufferPointer(rebasing: target[count...])
            var found = 0
            let step = try step { SSL_read_ex(raw, rest.baseAddress, rest.count, &found) }
            count += found
            guard step == .done else { return step }
            readRecords += 1
        }
        return .done
    }

    /// Encrypts `bytes`, at least one, into records of 16 KiB. There must be room for all of them.
    ///
    /// - Returns: `done` if all is written; `needsInput` if no bytes are written, because the peer must first complete
    ///   a message.
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

    /// Announces new keys with the next record. OpenSSL cannot do this while a message has been received only in part;
    /// it is then tried again at the next record.
    ///
    /// - Parameter ofBoth: whether to ask the peer for new keys too.
    private func renewKeys(ofBoth: Bool) {
        // After the closing alert, nothing may be sent.
        guard SSL_get_shutdown(raw) & SSL_SENT_SHUTDOWN == 0 else { return }
        guard SSL_key_update(raw, ofBoth ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED) == 1 else {
            return ERR_clear_error()
        }
        writtenRecords = 0
        if ofBoth { readRecords = 0 }
    }

    /// Frees the memory for records unless a record is half received or sent. The next record allocates it again.
    package func freeBuffers() {
        _ = SSL_free_buffers(raw)
    }

    /// Writes the alert that closes this direction.
    package func close() {
        guard SSL_is_init_finished(raw) == 1 else { return }
        ERR_clear_error()
        SSL_shutdown(raw)
        ERR_clear_error()
    }

    private func step(_ call: () -> Int32) throws(TLSFault) -> Step {
        // SSL_get_error(3) needs an empty error queue. The queue is almost always empty, and checking that is cheaper
        // than clearing it.
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

    /// The key in the peer's certificate, once the handshake is done; nil if the peer has shown none.
    package var peerKey: TLSKey? {
        SSL_get0_peer_certificate(raw).flatMap { TLSKey(certificate: $0) }
    }

    /// The identity to which the peer's certificate is bound. If it is bound to none, this is the certificate's key.
    package var peerIdentity: TLSKey? {
        SSL_get0_peer_certificate(raw).flatMap { TLSKey(identityOf: $0) ?? TLSKey(certificate: $0) }
    }

    /// Bytes that only the two sides of this session know: `tls-exporter` of RFC 9266. Nil before the handshake is
    /// done.
    package var channelBinding: [UInt8]? {
        guard SSL_is_init_finished(raw) == 1 else { return nil }
        // The label of RFC 9266, section 4, which also demands an empty context and 32 bytes.
        let label = "EXPORTER-Channel-Binding"
        var binding = [UInt8](repeating: 0, count: 32)
        let status = SSL_export_keying_material(raw, &binding, binding.count, label, label.utf8.count, nil, 0, 1)
        guard status == 1 else {
            ERR_clear_error()
            return nil
        }
        return binding
    }

    /// Whether the session was resumed.
    package var isResumed: Bool { SSL_session_reused(raw) == 1 }

    /// The protocol above TLS that both sides agreed on (RFC 7301); nil if the client offers none.
    package var protocolName: String? {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(raw, &name, &length)
        return name.map { String(decoding: UnsafeBufferPointer(start: $0, count: Int(length)), as: UTF8.self) }
    }

    /// The name of the cipher as registered with IANA.
    package var cipher: String {
        SSL_CIPHER_standard_name(SSL_get_current_cipher(raw)).map { String(cString: $0) } ?? "none"
    }

    // MARK: Callbacks

    /// The session to which OpenSSL's handle belongs. OpenSSL calls back only during a call that the session makes.
    static func of(_ raw: OpaquePointer?) -> TLSSession? {
        raw.flatMap { SSL_get_ex_data($0, 0) }.map { Unmanaged<TLSSession>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The session whose peer's certificate OpenSSL is verifying.
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
