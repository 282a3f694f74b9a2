import TransferClassic
import TransferIO
import TransferSystem

extension ServerConfiguration {
    /// The sockets to accept on: those that were handed over, and new ones for what these don't serve. Blocks.
    ///
    /// - Returns: the caller's to close.
    /// - Throws: `ServerError`; then none is open.
    package func bind() throws(ServerError) -> [ServerSocket] {
        var bound = sockets
        do throws(ServerError) {
            for socket in sockets { try checkReach(of: socket.socket.address, socket.socket.endpoint, socket.use) }
            for (endpoint, use) in unserved {
                for address in try Self.resolve(endpoint) {
                    bound.append(ServerSocket(try bind(endpoint, address, use), for: use))
                }
            }
            return bound
        } catch {
            for socket in bound { socket.socket.close() }
            throw error
        }
    }

    /// Where to listen, as far as no socket for it was handed over.
    var unserved: [(Endpoint, use: ListenerUse?)] {
        let usual = endpoints.map { ($0, nil as ListenerUse?) }
        let others = specialUses.map { ($0.endpoint, $0 as ListenerUse?) }
        return (usual + others).filter { _, use in !sockets.contains { $0.use?.name == use?.name } }
    }

    /// What there are listeners for beside the usual ones.
    package var specialUses: [ListenerUse] { classic.map { .classic($0) } + plainHTTP.map { .http($0) } }

    private static func resolve(_ endpoint: Endpoint) throws(ServerError) -> [SocketAddress] {
        do throws(ResolutionError) {
            return try endpoint.resolve()
        } catch {
            throw ServerError("Cannot listen on \(endpoint): \(error.reason).")
        }
    }

    private func bind(
        _ endpoint: Endpoint, _ address: SocketAddress, _ use: ListenerUse?
    ) throws(ServerError) -> BoundSocket {
        try checkReach(of: address, endpoint, use)
        do throws(SystemError) {
            if case .unix(let path) = endpoint {
                return try BoundSocket(
                    address, unixPath: path, mode: use?.http == nil ? nil : PlainHTTPListener.socketMode)
            }
            return try BoundSocket(address)
        } catch {
            let advice =
                switch use {
                case nil: "Is another server running? Choose another address with --listen."
                case .classic:
                    "Has --listen the same, or is another server running? Choose another address with --classic."
                case .http:
                    "Has --listen the same, or is another server running? Choose another address with --http-plain."
                }
            throw ServerError(
                "Cannot listen on \(endpoint): \(error.reason)." + (error.isAddressInUse ? " " + advice : ""))
        }
    }

    /// Neither the classic framings nor what proxies bring is encrypted.
    private func checkReach(
        of address: SocketAddress, _ endpoint: Endpoint, _ use: ListenerUse?
    ) throws(ServerError) {
        guard !address.isLocal else { return }
        switch use {
        case .classic(let classic):
            guard !isClassicBeyondThisMachine else { return }
            throw ServerError(
                "Others can reach \(endpoint), and the framing \(classic.framing.name) knows no encryption and "
                    + "no keys: they could push, and read and change what is sent. Choose an address of this machine, or "
                    + "say --allow-insecure.")
        case .http:
            guard !isPlainHTTPBeyondThisMachine else { return }
            throw ServerError(
                "Others can reach \(endpoint), and --http-plain knows no encryption: they could read tokens and what is sent. "
                    + "Choose an address of this machine, or say --allow-insecure.")
        case nil: break
        }
        guard case .plaintext(beyondThisMachine: false) = security else { return }
        throw ServerError(
            "Others can reach \(endpoint), and without encryption they could read and change what is sent. Serve with "
                + "TLS, without --plaintext, or say --allow-insecure.")
    }
}
