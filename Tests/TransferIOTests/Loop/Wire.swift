import CLinux
import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferIO

/// The kind of connection between two talkers.
enum Wire: CaseIterable, Sendable {
    case pair, unix, internet, internet6

    /// The kinds that this machine supports; the test prints a line about a missing one.
    static let available = allCases.filter { wire in
        guard wire == .internet6, !hasInternet6 else { return true }
        print("There is no ::1 on this machine: connections over IPv6 are not tested.")
        return false
    }

    static let hasInternet6: Bool = {
        guard let address = try? Endpoint.internet(host: "::1", port: 0).resolve().first else { return false }
        let probe = socket(AF_INET6, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(probe) }
        return address.withPointer { bind(probe, $0, $1) } == 0
    }()

    /// Connects two new talkers while `body` runs.
    ///
    /// - Parameter isSecured: whether the connection uses TLS; the near talker is the client.
    func connected<T: Sendable>(
        isSecured: Bool = false, _ body: (Talker, Talker) async throws -> T
    ) async throws -> T {
        let (near, far) = (try Talker(), try Talker())
        let directory = try TemporaryDirectory()
        let outcome: Result<T, any Error>
        do {
            try await connect(near, far, socketPath: directory.path("socket"))
            if isSecured { try await Self.secure(near, far) }
            outcome = .success(try await body(near, far))
        } catch {
            outcome = .failure(error)
        }
        for talker in [near, far] {
            await talker.close()
            talker.loop.stop()
        }
        return try outcome.get()
    }

    private func connect(_ near: Talker, _ far: Talker, socketPath: String) async throws {
        guard let endpoint = endpoint(socketPath) else {
            let numbers = try SocketPair.numbers()
            try await near.adopt(numbers.near)
            return try await far.adopt(numbers.far)
        }
        let address = try await far.listen(at: endpoint)
        async let accepted: Void = far.accept()
        try await near.connect(to: address)
        try await accepted
    }

    private static func secure(_ near: Talker, _ far: Talker) async throws {
        async let serving: Void = far.secure(TLSPair.serverContext.get())
        try await near.secure(.client(), judge: TLSPair.trusting)
        try await serving
    }

    private func endpoint(_ socketPath: String) -> Endpoint? {
        switch self {
        case .pair: nil
        case .unix: .unix(path: socketPath)
        case .internet: .internet(host: "127.0.0.1", port: 0)
        case .internet6: .internet(host: "::1", port: 0)
        }
    }
}
