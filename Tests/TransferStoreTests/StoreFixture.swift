import Glibc
import TransferPorts
import TransferCodec
import TransferModel
import TransferStoreTestSupport
import TransferTestSupport

@testable import TransferStore

/// A store in a new directory, with helpers for tests.
struct StoreFixture {
    let temporary: TemporaryDirectory
    let store: FileStore

    /// Path of the store's directory.
    let root: String

    init(usesOpenat2: Bool = true) throws {
        let temporary = try TemporaryDirectory()
        let store = try FileStore(path: temporary.path("store"), usesOpenat2: usesOpenat2)
        self.init(temporary: temporary, store: store, name: "store")
    }

    /// A store whose syncs are only recorded.
    ///
    /// - Parameter fileSystem: kind of file system that the store assumes.
    init(_ durability: Durability = .commit, fileSystem: FileSystem, syncs: RecordedSyncs) throws {
        let temporary = try TemporaryDirectory()
        let store = try FileStore(
            path: temporary.path("store"), durability: durability, fileSystem: fileSystem, disk: syncs.disk)
        self.init(temporary: temporary, store: store, name: "store")
    }

    /// A store whose calls go through a script.
    ///
    /// - Parameter before: files that exist when the store is opened.
    init(
        fileSystem: FileSystem, script: ScriptedDisk, before: [String: [UInt8]] = [:], usesOpenat2: Bool = true
    ) throws {
        let temporary = try TemporaryDirectory(prefersMemory: true)
        try Files.makeDirectory(temporary.path("store"))
        for (name, content) in before { try Files.write(content, to: temporary.path("store/\(name)")) }
        let store = try FileStore(
            path: temporary.path("store"), durability: .commit, usesOpenat2: usesOpenat2, fileSystem: fileSystem,
            disk: script.disk)
        self.init(temporary: temporary, store: store, name: "store")
    }

    init(temporary: TemporaryDirectory, store: FileStore, name: String) {
        self.temporary = temporary
        self.store = store
        root = temporary.path(name)
    }

    /// Another server in the same directory, as after a restart: the kernel's cache stays as it is.
    ///
    /// - Parameter disk: the disk for the calls of the new server.
    func restarted(_ durability: Durability = .commit, on disk: Disk) throws -> StoreFixture {
        store.unlock()
        let next = try FileStore(
            path: root, durability: durability, fileSystem: store.incoming.fileSystem, disk: disk)
        _ = try next.removeLeftovers()
        return StoreFixture(temporary: temporary, store: next, name: String(root.dropFirst(temporary.path.count + 1)))
    }

    func path(_ name: String) -> String { root + "/" + name }

    /// Paths outside the server's own folder, which clients can see.
    var visible: Set<String> { Files.tree(root).filter { !$0.hasPrefix(RelativePath.reservedName) } }

    /// Names of the parts and sheets on the disk.
    var parts: Set<String> {
        Files.names(path(".transfer/incoming")).filter { PublishedPart.upload(of: $0) == nil }
    }

    /// Stages all of `content`.
    ///
    /// - Parameter asPart: stages it as a part that can be resumed.
    func publication(
        _ path: String, _ content: [UInt8], _ conflict: ConflictPolicy = .keepBoth, asPart: Bool = false,
        digest: DigestFunction = .xxh128, modified: Timestamp? = nil, permissions: UInt16? = nil
    ) throws -> Publication {
        try store.publication(
            path, content, conflict, asPart: asPart, digest: digest, modified: modified, permissions: permissions)
    }

    /// Stages and publishes one upload.
    @discardableResult
    func publish(
        _ path: String, _ content: [UInt8], _ conflict: ConflictPolicy = .keepBoth, asPart: Bool = false,
        modified: Timestamp? = nil, permissions: UInt16? = nil
    ) throws -> PublicationOutcome {
        try publish([
            publication(path, content, conflict, asPart: asPart, modified: modified, permissions: permissions)
        ])[0].get()
    }

    /// Publishes a batch, and removes the identities of the files, which a test cannot know beforehand, from the
    /// outcomes.
    func publish(_ batch: [Publication]) -> [Result<PublicationOutcome, Failure>] {
        store.publish(batch).outcomes.map { $0.map(\.withoutIdentity) }
    }

    /// Code with which an upload fails, or nil if it succeeds.
    func failure(
        _ path: String, _ content: [UInt8], _ conflict: ConflictPolicy = .keepBoth, asPart: Bool = false
    ) throws -> ResultCode? {
        do {
            try publish(path, content, conflict, asPart: asPart)
            return nil
        } catch let error as Failure {
            return error.code
        }
    }
}

extension ContentStore {
    /// The digests of the blocks, concatenated.
    private func blocks(of content: [UInt8], _ function: DigestFunction) -> [UInt8] {
        stride(from: 0, to: content.count, by: Limits.blockSize).flatMap { start in
            content[start...].prefix(Limits.blockSize).withUnsafeBytes { BlockHasher.digest(function, $0) }
        }
    }

    /// Stages all of `content`.
    ///
    /// - Parameter asPart: stages it as a part that can be resumed, and that is recorded if the store has such records.
    func publication(
        _ path: String, _ content: [UInt8], _ conflict: ConflictPolicy = .keepBoth, asPart: Bool = false,
        digest: DigestFunction = .xxh128, modified: Timestamp? = nil, permissions: UInt16? = nil
    ) throws -> Publication {
        let id = UploadID.random()
        let size = UInt64(content.count)
        let staged: any StagedContent =
            if asPart, let parts {
                try parts.resume(id: id, size: nil, filled: nil, quota: nil)
            } else {
                try stage(id: id, size: size, filled: nil, permissions: permissions, quota: nil)
            }
        do {
            try content.withUnsafeBytes { bytes in try staged.write(bytes, at: 0) }
            if asPart, size > 0, let records = parts?.records {
                let part = RecordedPart(0..<size, digests: blocks(of: content, digest))
                try records.add(part, to: id, epoch: try records.takeOver(id).epoch)
            }
        } catch {
            staged.discard()
            throw error
        }
        return Publication(
            staged: staged, id: id, path: try RelativePath(path), size: size,
            digest: content.withUnsafeBytes { ContentDigester.digest(digest, $0) }, conflict: conflict,
            modified: modified, permissions: permissions)
    }
}

extension PublicationOutcome {
    static func committed(_ path: String) throws -> PublicationOutcome { .committed(try RelativePath(path)) }

    static func alreadyStored(_ path: String) throws -> PublicationOutcome { .alreadyStored(try RelativePath(path)) }

    static func committed(_ path: RelativePath) -> PublicationOutcome { .committed(path, nil) }

    static func alreadyStored(_ path: RelativePath) -> PublicationOutcome { .alreadyStored(path, nil) }

    /// The outcome without the file's identity, so that tests can compare it.
    var withoutIdentity: PublicationOutcome {
        switch self {
        case .committed(let path, _): .committed(path)
        case .healed(let path, _): .healed(path, nil)
        // Most tests do not check which file was replaced.
        case .restored(let path, _): .committed(path)
        case .alreadyStored(let path, _): .alreadyStored(path)
        case .skipped: .skipped
        }
    }
}

extension [UInt8] {
    init(text: String) { self.init(text.utf8) }

    static let one = [UInt8](text: "one")
    static let two = [UInt8](text: "two")
    static let six = [UInt8](text: "sixsix")
}
