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

    /// Bytes that are told of what doesn't speak TLS: enough to see what it is.
    private static let openingSize = 64

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
    /// The other side said that no more comes.
    private var hasEnded = false
    /// What to throw when all that came before it was handed over.
    private var failure: StreamError?

    package private(set) var isEstablished = false

    /// Whether nothing can be sent before more has come: the other side has begun a message of TLS and not ended it.
    package private(set) var sendingAwaitsInput = false

    /// Whether nothing can be received before what waits was sent: the other side has asked for answers of TLS and takes
    /// none.
    private var receivingAwaitsRoom = false

    /// Whether something was received because nothing could be sent without it.
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

    /// Whether ciphertext waits for the kernel.
    package var hasUnsent: Bool { !unsent.isEmpty }

    /// Whether receiving may go on, though the kernel says nothing: there is room again, or sending has received something.
    package var mayReceive: Bool { receivingAwaitsRoom ? !hasUnsent : hasReceivedToSend }
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

    /// - Parameter count: bytes of plaintext; raised also by a call that throws.
    /// - Returns: whether that is all for now.
    private func receiveStep(into target: UnsafeMutableRawBufferPointer, _ count: inout Int) throws(StreamError) -> Bool
    {
        let step = try encrypting { () throws(TLSFault) in try session.read(into: target, &count) }
        // An answer to a new key, say. Whether it can be sent is no matter of what was received.
        if hasUnsent, step != .needsRoom { try? flush() }
        // What was received is worth handing over before there is more.
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

    /// Receives ciphertext for about as much plaintext as there is room for, so that nearly nothing has to wait here.
    ///
    /// - Returns: false when there is nothing to receive now.
    private func fill(room: Int) throws(StreamError) -> Bool {
        guard session.unread == 0 else { throw .tls(.broken("more is wanted than what is there")) }
        let buffer = incoming ?? buffers.take()
        incoming = buffer
        let target = UnsafeMutableRawBufferPointer(
            rebasing: buffer[..<min(buffer.count, max(room, Self.leastReceived))])
        let count = try streaming { () throws(SystemError) in try wire.receive(target) }
        guard let count else { return false }
        guard count > 0 else { throw .truncated }
        // Trap: more than none was received, which the line above says.
        if !hasReceived { try checkFirst(target[0], of: target.prefix(count)) }
        // Trap: recv(2) gives no more than there was room for.
        session.setInput(UnsafeRawBufferPointer(rebasing: target[..<count]))
        return true
    }

    /// The first record is of a handshake (22), or an alert (21) of somebody who wants none (RFC 8446, section 5.1). OpenSSL
    /// would tell of a wrong version number.
    private func checkFirst(_ byte: UInt8, of received: Slice<UnsafeMutableRawBufferPointer>) throws(StreamError) {
        hasReceived = true
        guard byte == 22 || byte == 21 else {
            throw .tls(.notTLS(opening: Array(received.prefix(Self.openingSize))))
        }
    }

    /// An idle connection holds no memory, neither here nor in OpenSSL; nor does one that nothing more is read of.
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
    /// - Returns: how many bytes were taken and will leave, or nothing while earlier ones still wait.
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

    /// - Returns: false when the other side has to say more first, or to take what waits.
    private func encrypt(_ piece: UnsafeRawBufferPointer) throws(StreamError) -> Bool {
        sendingAwaitsInput = false
        while try encrypting({ () throws(TLSFault) in try session.write(piece) }) == .needsInput {
            // Each try may write, and needs all the room.
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
            // Trap: send(2) takes no more than it was offered.
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
        // Trap: the wire writes no more than the room it was given, in C with that bound.
        unsent = unsent.lowerBound..<unsent.upperBound + count
        guard !hasUnsent, let outgoing else { return }
        buffers.giveBack(outgoing)
        self.outgoing = nil
        unsent = 0..<0
    }
}
