import Glibc
import TransferAccess
import TransferCatalog
import TransferCodec
import TransferKeys
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

/// An intake with a store and a catalog in a new directory, used without connections.
final class PromisingIntake {
    let directory: TemporaryDirectory
    let store: FileStore
    let intake: Intake
    private let catalog: Catalog

    /// - Parameter hasCatalog: false for a catalog that cannot be opened.
    init(
        _ durability: Durability = .none, signer: KeyPair? = nil, abilities: StoreAbilities = StoreAbilities(),
        hasCatalog: Bool = true
    ) throws {
        directory = try TemporaryDirectory()
        store = try FileStore(path: directory.path("store"), durability: durability)
        catalog = Catalog(path: directory.path(hasCatalog ? "catalog" : "nowhere/catalog"), isDurable: false) { _ in
        }
        intake = Self.intake(LimitedStore(store, abilities), catalog, signer)
    }

    private static func intake(_ store: LimitedStore, _ catalog: Catalog, _ signer: KeyPair?) -> Intake {
        Intake(
            Intake.Configuration(maximumMultiparts: 4, filesAtOnce: 64, maximumUpload: 1 << 30, keepUnfinished: .max),
            store: store, records: catalog, signer: signer
        ) { _ in }
    }

    /// Makes the intake of another server with the same store and records.
    func another(_ abilities: StoreAbilities) -> Intake { Self.intake(LimitedStore(store, abilities), catalog, nil) }

    deinit {
        intake.known.close()
    }

    /// Opens a connection. All connections are those of one client.
    func session(
        number: Int = 1, run: UInt64? = nil, of intake: Intake? = nil,
        _ change: (inout AccessOptions) -> Void = { _ in }
    ) -> IntakeSession {
        var options = AccessOptions()
        change(&options)
        let caller = Caller(Grant(.token("a"), name: "guest", options: options), UploadScope(), peer: "")
        let connection = IntakeSession.Connection(number: number) { body in body() }
        let session = IntakeSession(intake ?? self.intake, connection, caller: caller)
        session.run = run
        return session
    }

    /// - Returns: the size of a stored file in bytes; nil if it does not exist.
    func size(_ path: String) -> UInt64? { (try? RelativePath(path)).flatMap { store.version(at: $0)?.size } }

    func remove(_ path: String) { unlink(directory.path("store/\(path)")) }
}

extension IntakeSession {
    /// Sends all of an upload, or of a part.
    ///
    /// - Parameters:
    ///   - end: declared end; nil for the size and digest of the content.
    ///   - mayEnd: whether the client waits for the answer before it sends the content.
    func send(
        _ intent: UploadIntent, _ content: [UInt8] = [], end: DeclaredEnd? = nil, mayEnd: Bool = false
    ) -> UploadOutcome {
        let begun = begin(intent, mayEnd: mayEnd)
        if let outcome = begun.outcome { return outcome }
        let declared = end ?? DeclaredEnd(size: UInt64(content.count), digest: content.digest)
        do throws(Failure) {
            try content.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try begun.upload.write(bytes) }
            if let outcome = try finish(begun.upload, declared) { return outcome }
        } catch {
            return refuse(begun.upload, error)
        }
        let ended = publish().ended + acknowledge().flatMap(\.uploads)
        return ended.last?.outcome ?? .refused(.serverStopping, size: 0)
    }

    /// Sends content as one part, and then the end of the upload.
    func sendInParts(_ id: UploadID, _ path: String, _ content: [UInt8], digest: Digest? = nil) -> UploadOutcome {
        let size = UInt64(content.count)
        let part = send(.part(of: id, path, offset: 0, size: size, total: size), content)
        guard part.code == .staged else { return part }
        let end = DeclaredEnd(size: size, digest: digest ?? content.digest)
        return send(UploadIntent(id: id, path: path, size: size, extent: .multipart), end: end)
    }
}

extension UploadIntent {
    static func part(of id: UploadID, _ path: String, offset: UInt64, size: UInt64, total: UInt64?) -> UploadIntent {
        UploadIntent(
            id: .random(), path: path, size: size, extent: .part(UploadPart(of: id, offset: offset, total: total)))
    }
}

extension [UInt8] {
    var digest: Digest { span.bytes.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) } }
}
