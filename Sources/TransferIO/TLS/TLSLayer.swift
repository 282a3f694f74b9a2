import Glibc
package import TransferSystem

/// TLS between a socket and the code that uses it. It takes and returns plaintext like a bare socket, and needs no more
/// system calls for the ciphertext. Ciphertext that the kernel doesn't accept at once waits here until the kernel does.
/// Loop only.
package final class TLSLayer {
    /// One attempt to receive or send; nil if it would block.
    package struct Wire {
        // The error type has a name because the compiler overlooks that errors of closures use an import.
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

    /// Most bytes of a peer without TLS that are reported, enough to recognise its protocol.
    private static let openingSize = 64

    /// Fewest bytes that are requested from the kernel at once, however little room for plaintext there is.
    private static let leastReceived = 4 << 10

    let session: TLSSession
    private let buffers: CiphertextBuffers
    private let wire: Wire
    /// Received ciphertext that is not decrypted yet. The buffer is held only while there is no room for the plaintext.
    private var incoming: UnsafeMutableRawBufferPointer?
    /// Ciphertext that is not sent yet: the buffer, and the range in it.
    private var outgoing: UnsafeMutableRawBufferPointer?
    private var unsent = 0..<0
    private var hasReceived = false
    /// Whether the peer has ended its direction.
    private var hasEnded = false
    /// The error to throw after all earlier bytes were returned.
    private var failure: StreamError?

    package private(set) var isEstablished = false

    /// Whether sending must wait for input, because the peer has sent an incomplete TLS message.
    package private(set) var sendingAwaitsInput = false

    /// Whether receiving must wait until ciphertext is sent, because the peer has requested answers of TLS and does not
    /// read them.
    private var receivingAwaitsRoom = false

    /// Whether sending has received input, which `receive` can return.
    private var hasReceivedToSend = false

    package init(_ session: TLSSession, _ buffers: CiphertextBuffers, _ wire: Wire) {
        self.session = session
        self.buffers = buffers
        self.wire = wire
    }

    deinit {
        if let incoming { buffers.giveBack(incoming) }
        if let outgoing { buffers.giveBack(outgoing) }
    }

    /// Whether ciphertext waits to be sent.
    package var hasUnsent: Bool { !unsent.isEmpty }

    /// Whether receiving may continue without an event of the kernel, because there is room again, or because sending
    /// has received input.
    package var mayReceive: Bool { receivingAwaitsRoom ? !hasUnsent : hasReceivedToSend }
}

// MARK: Handshake

extension TLSLayer {
    /// Continues the handshake as far as possible.
    ///
    /// - Returns: whether the handshake is done. If not, more input is needed.
    package func handshake() throws(StreamError) -> Bool {
        while !isEstablished {
            let step = try encrypting { () throws(TLSFault) in try session.handshake() }
            try flush()
            switch step {
            case .done: isEstablished = true
            case .closed: throw .truncated
            case .needsRoom:
                receivingAwaitsRoom = hasUnsent
                guard !hasUnsent else { return false }
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
        (receivingAwaitsRoom, hasReceivedToSend) = (false, false)
        var count = 0
        do throws(StreamError) {
            while try !receiveStep(into: target, &count) {}
        } catch {
            failure = error
            guard count > 0 else { throw error }
            return .bytes(count)
        }
        letGoOfInput()
        if count > 0 { return .bytes(count) }
        return hasEnded ? .end : .wouldBlock
    }

    /// - Parameter count: bytes of plaintext; increased also by a call that throws.
    /// - Returns: whether no more can be done now.
    private func receiveStep(into target: UnsafeMutableRawBufferPointer, _ count: inout Int) throws(StreamError) -> Bool
    {
        let step = try encrypting { () throws(TLSFault) in try session.read(into: target, &count) }
        // The session may have written ciphertext, for example an answer to a key update. If it cannot be sent, the
        // received bytes are still valid.
        if hasUnsent, step != .needsRoom { try? flush() }
        // Received bytes are returned before more are read.
        guard count == 0 else { return true }
        switch step {
        case .done: return true
        case .closed:
            hasEnded = true
            return true
        case .needsInput: return try !fill(room: target.count)
        case .needsRoom:
            try flush()
            receivingAwaitsRoom = hasUnsent
            return hasUnsent
        }
    }

    /// Receives about as much ciphertext as there is room for plaintext, so that almost no ciphertext waits here.
    ///
    /// - Returns: false if there is no input now.
    private func fill(room: Int) throws(StreamError) -> Bool {
        guard session.unread == 0 else { throw .tls(.broken("more is wanted than what is there")) }
        let buffer = incoming ?? buffers.take()
        incoming = buffer
        let target = UnsafeMutableRawBufferPointer(
            rebasing: buffer[..<min(buffer.count, max(room, Self.leastReceived))])
        let count = try streaming { () throws(SystemError) in try wire.receive(target) }
        guard let count else { return false }
        guard count > 0 else { throw .truncated }
        // Trap: at least one byte was received, as the line above checks.
        if !hasReceived { try checkFirst(target[0], of: target.prefix(count)) }
        // Trap: recv(2) returns no more bytes than there was room for.
        session.setInput(UnsafeRawBufferPointer(rebasing: target[..<count]))
        return true
    }

    /// Checks that the first record is a handshake (22), or an alert (21) of a peer that refuses a handshake (RFC 8446,
    /// section 5.1). Without this check, OpenSSL would report a wrong version number.
    private func checkFirst(_ byte: UInt8, of received: Slice<UnsafeMutableRawBufferPointer>) throws(StreamError) {
        hasReceived = true
        guard byte == 22 || byte == 21 else {
            throw .tls(.notTLS(opening: Array(received.prefix(Self.openingSize))))
        }
    }

    /// Frees memory here and in OpenSSL, so that a connection that is idle, or is no longer read, holds none.
    private func letGoOfInput() {
        if hasEnded { session.setInput(UnsafeRawBufferPointer(start: nil, count: 0)) }
        guard session.unread == 0 else { return }
        session.freeBuffers()
        guard let buffer = incoming else { return }
        buffers.giveBack(buffer)
        incoming = nil
    }
}

// MARK: Sending

extension TLSLayer {
    /// - Returns: the number of bytes that were taken and will be sent; nil if earlier bytes still wait.
    package func send(_ bytes: UnsafeRawBufferPointer) throws(StreamError) -> Int? {
        if let failure { throw failure }
        guard isEstablished else { throw .tls(.broken("the handshake is not done")) }
        try flush()
        guard !hasUnsent else { return nil }
        guard !bytes.isEmpty else { return 0 }
        let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(CiphertextBuffers.plaintextLimit))
        guard try encrypt(piece) else { return nil }
        session.freeBuffers()
        try flush()
        return piece.count
    }

    /// - Returns: false if the peer must first send more bytes, or read the bytes that wait for it.
    private func encrypt(_ piece: UnsafeRawBufferPointer) throws(StreamError) -> Bool {
        sendingAwaitsInput = false
        while try encrypting({ () throws(TLSFault) in try session.write(piece) }) == .needsInput {
            // The next attempt may write ciphertext, and needs the whole buffer.
            try flush()
            guard !hasUnsent else { return false }
            guard !hasEnded else { throw .truncated }
            guard try fill(room: CiphertextBuffers.recordSize) else {
                sendingAwaitsInput = true
                letGoOfInput()
                return false
            }
            hasReceivedToSend = true
        }
        return true
    }

    /// Sends the closing alert, without waiting.
    package func close() {
        guard isEstablished, failure == nil else { return }
        // If this fails, no content is lost.
        try? encrypting { () throws(TLSFault) in session.close() }
        try? flush()
    }

    /// Sends waiting ciphertext as far as possible.
    package func flush() throws(StreamError) {
        guard let outgoing else { return }
        while hasUnsent {
            let rest = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(outgoing)[unsent])
            let count = try streaming { () throws(SystemError) in try wire.send(rest) }
            guard let count else { return }
            // Trap: send(2) takes no more bytes than it was offered.
            unsent = unsent.lowerBound + count..<unsent.upperBound
        }
        took(0)
    }

    /// Runs a step of the session that may write ciphertext. The ciphertext of a failing step is sent too, because it
    /// may be the alert that gives the peer the reason.
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
        // Trap: the wire, in C, writes no more bytes than its room.
        unsent = unsent.lowerBound..<unsent.upperBound + count
        guard !hasUnsent, let outgoing else { return }
        buffers.giveBack(outgoing)
        self.outgoing = nil
        unsent = 0..<0
    }
}
