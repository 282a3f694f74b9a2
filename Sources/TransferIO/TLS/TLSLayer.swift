import Glibc
package import TransferSystem

/// TLS between a socket and whoever uses it: takes and gives plaintext like a bare socket, and moves ciphertext in as few
/// system calls. Ciphertext that the kernel doesn't take at once waits here, and is sent when it does. Loop only.
package final class TLSLayer {
    /// One try at receiving or sending; nothing when the kernel would have to wait.
    package struct Wire {
        // Named, because the compiler overlooks that errors of closures use an import.
        package typealias Failure = SystemError

        let receive: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int?
        let send: (UnsafeRawBufferPointer) throws(Failure) -> Int?

        package init(
            receive: @escaping (UnsafeMutableRawBufferPointer) throws(Failure) -> Int?,
            send: @escaping (UnsafeRawBufferPointer) throws(Failure) -> Int?
        ) {
            (self.receive, self.send) = (receive, send)
        }
    }

    /// The least that is asked of the kernel at once, however little the user has room for.
    private static let leastReceived = 4 << 10

    let session: TLSSession
    private let buffers: CiphertextBuffers
    private let wire: Wire
    /// Received and not decrypted yet; there only while the user has no room for it.
    private var incoming: UnsafeMutableRawBufferPointer?
    /// Encrypted and not sent yet: the buffer and the part of it.
    private var outgoing: UnsafeMutableRawBufferPointer?
    private var unsent = 0..<0
    private var hasReceived = false
    /// What to throw when all that came before it was handed over.
    private var failure: StreamError?

    package private(set) var isEstablished = false

    package init(_ session: TLSSession, _ buffers: CiphertextBuffers, _ wire: Wire) {
        self.session = session
        self.buffers = buffers
        self.wire = wire
    }

    deinit {
        if let incoming { buffers.giveBack(incoming) }
        if let outgoing { buffers.giveBack(outgoing) }
    }

    /// Whether ciphertext waits for the kernel.
    package var hasUnsent: Bool { !unsent.isEmpty }
}

// MARK: Handshake

extension TLSLayer {
    /// Goes on as far as it can now.
    ///
    /// - Returns: whether it is done; otherwise more has to come.
    package func handshake() throws(StreamError) -> Bool {
        while !isEstablished {
            let step = try encrypting { () throws(TLSFault) in try session.handshake() }
            try flush()
            switch step {
            case .done: isEstablished = true
            case .closed: throw .truncated
            case .needsRoom: guard !hasUnsent else { return false }
            case .needsInput:
                guard try fill(room: CiphertextBuffers.recordSize) else {
                    letGoOfInput()
                    return false
                }
            }
        }
        letGoOfInput()
        return true
    }
}

// MARK: Receiving

extension TLSLayer {
    package func receive(into target: UnsafeMutableRawBufferPointer) throws(StreamError) -> StreamSocket.Received {
        if let failure { throw failure }
        var count = 0
        do throws(StreamError) {
            while true {
                let step = try encrypting { () throws(TLSFault) in try session.read(into: target, &count) }
                // An answer to a new key, say. Whether it can be sent is no matter of what was received.
                if hasUnsent { try? flush() }
                // What was received is worth handing over before there is more.
                if count == 0 {
                    if step == .closed { return .end }
                    if step == .needsInput, try fill(room: target.count) { continue }
                }
                letGoOfInput()
                return count > 0 ? .bytes(count) : .wouldBlock
            }
        } catch {
            failure = error
            guard count > 0 else { throw error }
            return .bytes(count)
        }
    }

    /// Receives ciphertext for about as much plaintext as there is room for, so that nearly nothing has to wait here.
    ///
    /// - Returns: false when there is nothing to receive now.
    private func fill(room: Int) throws(StreamError) -> Bool {
        let buffer = incoming ?? buffers.take()
        incoming = buffer
        let target = UnsafeMutableRawBufferPointer(
            rebasing: buffer[..<min(buffer.count, max(room, Self.leastReceived))])
        let count = try streaming { () throws(SystemError) in try wire.receive(target) }
        guard let count else { return false }
        guard count > 0 else { throw .truncated }
        if !hasReceived { try checkFirst(target[0]) }
        session.setInput(UnsafeRawBufferPointer(rebasing: target[..<count]))
        return true
    }

    /// The first record is of a handshake (22), or an alert (21) of somebody who wants none (RFC 8446, section 5.1). OpenSSL
    /// would tell of a wrong version number.
    private func checkFirst(_ byte: UInt8) throws(StreamError) {
        hasReceived = true
        guard byte == 22 || byte == 21 else { throw .tls(.notTLS(firstByte: byte)) }
    }

    /// An idle connection holds no memory, neither here nor in OpenSSL.
    private func letGoOfInput() {
        guard session.unread == 0 else { return }
        session.freeBuffers()
        guard let buffer = incoming else { return }
        buffers.giveBack(buffer)
        incoming = nil
    }
}

// MARK: Sending

extension TLSLayer {
    /// - Returns: how many bytes were taken and will leave, or nothing while earlier ones still wait.
    package func send(_ bytes: UnsafeRawBufferPointer) throws(StreamError) -> Int? {
        if let failure { throw failure }
        guard isEstablished else { throw .tls(.broken("the handshake is not done")) }
        try flush()
        guard !hasUnsent else { return nil }
        guard !bytes.isEmpty else { return 0 }
        let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(CiphertextBuffers.plaintextLimit))
        try encrypting { () throws(TLSFault) in try session.write(piece) }
        session.freeBuffers()
        try flush()
        return piece.count
    }

    /// Says that no more will come, without waiting for anything.
    package func close() {
        guard isEstablished, failure == nil else { return }
        // A connection that fails now has nothing left to lose.
        try? encrypting { () throws(TLSFault) in session.close() }
        try? flush()
    }

    /// Offers the kernel what waits.
    package func flush() throws(StreamError) {
        guard let outgoing else { return }
        while hasUnsent {
            let rest = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(outgoing)[unsent])
            let count = try streaming { () throws(SystemError) in try wire.send(rest) }
            guard let count else { return }
            unsent = unsent.lowerBound + count..<unsent.upperBound
        }
        took(0)
    }

    /// Lets the session write what it has to behind what waits. What a failing one writes is sent too: it may be the alert
    /// that tells the other side why.
    private func encrypting<Value>(_ body: () throws(TLSFault) -> Value) throws(StreamError) -> Value {
        let buffer = outgoing ?? buffers.take()
        outgoing = buffer
        session.setOutput(UnsafeMutableRawBufferPointer(rebasing: buffer[unsent.upperBound...]))
        defer { session.setOutput(UnsafeMutableRawBufferPointer(start: nil, count: 0)) }
        do throws(TLSFault) {
            let value = try body()
            took(session.written)
            return value
        } catch {
            took(session.written)
            try? flush()
            throw .tls(error)
        }
    }

    private func took(_ count: Int) {
        unsent = unsent.lowerBound..<unsent.upperBound + count
        guard !hasUnsent, let outgoing else { return }
        buffers.giveBack(outgoing)
        self.outgoing = nil
        unsent = 0..<0
    }
}
