internal import TransferHTTP
internal import TransferIO
internal import TransferSystem

/// A server that requests are sent to, and how a connection to it is made.
struct Origin: Sendable {
    let host: String
    let port: UInt16
    /// TLS settings; nil for a server without TLS. Belongs to this origin alone, because it keeps session tickets.
    let tls: TLSContext?
    /// The value of Host in requests.
    let hostField: String

    /// - Parameter authorities: file with the only trusted certificates; nil for the system's.
    /// - Throws: `misconfigured` if TLS cannot be used, or the file is unusable.
    init(_ address: WebAddress, authorities: String? = nil) throws(ObjectError) {
        (host, port, hostField) = (address.host, address.port, address.hostField)
        guard address.isSecure else {
            tls = nil
            return
        }
        do throws(TLSError) {
            let context = try TLSContext.client(protocols: ["http/1.1"])
            // Loaded here, because several threads connect at the same time, and the program may lose access to files.
            if let authorities { try context.trust(onlyAuthoritiesIn: authorities) } else { context.loadSystemTrust() }
            tls = context
        } catch {
            throw ObjectError(.misconfigured, error.message)
        }
    }

    /// Resolves the name and connects to the first address that answers.
    ///
    /// - Parameters:
    ///   - attempt: nanoseconds for each address.
    ///   - deadline: for all of them together.
    func connect(attempt: Int64, until deadline: Int64) throws(ExchangeFault) -> WaitingSocket {
        let addresses: [SocketAddress]
        do throws(ResolutionError) {
            addresses = try Endpoint.internet(host: host, port: port).resolve()
        } catch {
            throw ExchangeFault(.resolution(host: host, reason: error.reason))
        }
        var latest = ExchangeFault(.resolution(host: host, reason: "it has no address"))
        for address in addresses {
            let limit = min(deadline, monotonicDeadline(after: attempt))
            do throws(StreamError) {
                let socket = try WaitingSocket(connectingTo: address, until: limit)
                try secure(socket, until: limit)
                return socket
            } catch {
                latest = ExchangeFault(.stream(error))
                // An address whose server is not trusted ends the attempt: the others are the same server's.
                if case .tls = error { throw latest }
            }
            guard monotonicNanoseconds() < deadline else { break }
        }
        throw latest
    }

    private func secure(_ socket: WaitingSocket, until deadline: Int64) throws(StreamError) {
        guard let tls else { return }
        let problem = Locked<TLSProblem?>(nil)
        do throws(StreamError) {
            try socket.startTLS(
                tls, name: host,
                judge: { _, check in
                    let found = check()
                    problem.withLock { $0 = found }
                    return found == nil
                }, until: deadline)
        } catch {
            guard case .tls(.untrusted) = error, let problem = problem.withLock({ $0 }) else { throw error }
            throw .tls(.broken(Self.words(problem)))
        }
    }

    private static func words(_ problem: TLSProblem) -> String {
        switch problem {
        case .expired: "the certificate has expired"
        case .notYetValid: "the certificate is not valid yet"
        case .wrongName: "the certificate is for another name"
        case .unknownIssuer: "the issuer of the certificate is unknown"
        case .other(let words): words
        }
    }
}

/// The reason why a request got no complete answer.
struct ExchangeFault: Error, Equatable, Sendable {
    enum Cause: Equatable, Sendable {
        /// The name cannot be resolved.
        case resolution(host: String, reason: String)
        /// Connecting, sending or receiving failed, or the connection ended.
        case stream(StreamError)
        /// No byte could be sent or received for too long, or the whole request took too long.
        case silence
        /// All connections were in use for too long.
        case crowded
        /// The answer is not HTTP, or too long.
        case malformed(String)
        /// The content to send could not be read.
        case content(ObjectError)
    }

    let cause: Cause

    /// Whether a byte of the answer had arrived.
    var hasAnswerBegun = false

    init(_ cause: Cause, hasAnswerBegun: Bool = false) { (self.cause, self.hasAnswerBegun) = (cause, hasAnswerBegun) }

    /// Whether the connection was cut before any byte of the answer. On a kept connection this usually means that the
    /// server had closed it as idle.
    var isCutBeforeAnswer: Bool {
        guard case .stream = cause else { return false }
        return !hasAnswerBegun
    }
}
