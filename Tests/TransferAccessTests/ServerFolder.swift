import Testing
import TransferKeys
import TransferMemoryStore
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferAccess

/// A server's directory with its access lists.
final class ServerFolder: Sendable {
    let directory: TemporaryDirectory
    let folder: AccessFolder

    /// The lists of the server: those in the folder, or lists in memory if the suite asks for them.
    let lists: any AccessLists

    init() throws {
        directory = try TemporaryDirectory()
        folder = AccessFolder(of: directory.path)
        try folder.make()
        lists = EachKindOfLists.isMemory ? MemoryAccess() : folder
    }

    var keysPath: String { folder.path(AccessFolder.keysName) }
    var tokensPath: String { folder.path(AccessFolder.tokensName) }

    func admit(_ name: String, _ change: (inout AccessOptions) -> Void = { _ in }) throws -> PublicKey {
        let key = KeyPair().key
        try lists.admit(AuthorizedKey(key, name: name, options: Sample.options(change)))
        return key
    }

    func issue(_ kind: AccessSecret.Kind, _ change: (inout AccessOptions) -> Void = { _ in }) throws -> AccessSecret {
        try lists.issue(kind, name: "camera", options: Sample.options(change), at: Sample.now)
    }
}

extension Credentials {
    static func local(_ key: PublicKey?) -> Credentials { Credentials(network: nil, isLocal: true, key: key) }

    static func remote(_ key: PublicKey?, token: String? = nil) -> Credentials {
        Credentials(network: PeerNetwork(ipv4: 1), isLocal: false, key: key, token: token, hostName: "laptop")
    }
}

extension Authenticator {
    /// - Returns: the admission of the client, or the reason for the refusal.
    func decide(_ credentials: Credentials, at seconds: Int64 = 0) -> Result<Admission, Refusal> {
        let now = Sample.now.advanced(bySeconds: seconds)
        let time = Sample.time + .seconds(Double(seconds))
        return Result { () throws(Refusal) in try authenticate(credentials, at: now, time) }
    }

    /// - Returns: the code of the refusal, or nil if the client is admitted.
    func refusal(_ credentials: Credentials, at seconds: Int64 = 0) -> ResultCode? {
        switch decide(credentials, at: seconds) {
        case .success: nil
        case .failure(let refusal): refusal.code
        }
    }
}

/// Runs each test of a suite with the lists of a directory and with lists in memory: both have to give the same
/// results.
struct EachKindOfLists: SuiteTrait, TestTrait, TestScoping {
    @TaskLocal static var isMemory = false

    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        for isMemory in [false, true] { try await Self.$isMemory.withValue(isMemory) { try await function() } }
    }
}

extension Trait where Self == EachKindOfLists {
    static var overEachKindOfLists: EachKindOfLists { EachKindOfLists() }
}
