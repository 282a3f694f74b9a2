import TransferCodec
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferTestSupport

/// A store among links that lead out of it.
final class PathStore {
    /// The outcome of an upload.
    enum Outcome: Equatable {
        case committed(String)
        case alreadyStored(String)
        case skipped
        case failed(ResultCode)
    }

    /// The ID of uploads in parts.
    private static let part = UploadID(high: 1, low: 1)

    private let root: String
    private let outside: String
    private let store: FileStore

    init(_ root: String, outside: String, usesOpenat2: Bool) throws(Finding) {
        self.root = root
        self.outside = outside
        do throws(Failure) {
            store = try FileStore(path: root, durability: .none, usesOpenat2: usesOpenat2)
        } catch {
            throw Finding(error.message)
        }
        try fill()
    }

    private func fill() throws(Finding) {
        try Files.makeDirectory(root + "/dir")
        try Files.makeDirectory(root + "/dir/sub")
        try Files.makeFile(root + "/file")
        try Files.makeFIFO(root + "/fifo")
        let links = [
            "out": outside, "up": "..", "in": "dir", "self": "self", "none": "nowhere", "here": ".", "top": "/",
        ]
        for (name, target) in links { try Files.makeLink(root + "/" + name, to: target) }
        try Files.makeLink(root + "/dir/secret", to: "../../outside/secret")
        try Files.makeLink(root + "/dir/own", to: "../.transfer")
    }

    func reset() throws(Finding) {
        for name in names(in: root) where name != RelativePath.reservedName {
            TemporaryDirectory.remove(root + "/" + name)
        }
        try fill()
    }

    /// - Throws: a finding if a file is left in the server's own folder.
    func check() throws(Finding) {
        let own = root + "/" + RelativePath.reservedName
        try require(Set(names(in: own)) == ["incoming", "lock"], "There is a file in the server's own folder.")
        try require(names(in: own + "/incoming").isEmpty, "A part was left.")
    }

    /// Stores an upload.
    ///
    /// - Parameter choice: its lowest two bits are the conflict policy; the next bit makes a part that can be resumed;
    ///   the others are the content.
    func take(_ path: RelativePath, _ choice: UInt8) -> Outcome {
        let conflict = ConflictPolicy.allCases[Int(choice & 3) % ConflictPolicy.allCases.count]
        let content = [UInt8](repeating: choice, count: Int(choice >> 6))
        do throws(Failure) {
            if try store.admit(path, size: UInt64(content.count), conflict: conflict) != nil { return .skipped }
            let staged = try staged(isPart: choice & 4 != 0)
            defer { staged.discard() }
            try content.span.bytes.withUnsafeBytes { (bytes) throws(Failure) in try staged.write(bytes, at: 0) }
            // As the intake does when it has recorded the upload.
            defer { store.forgetPublished(Self.part) }
            return Outcome(store.publish([publication(staged, path, content, conflict)]).outcomes)
        } catch {
            return .failed(error.code)
        }
    }

    private func staged(isPart: Bool) throws(Failure) -> StagedFile {
        isPart
            ? try store.resume(id: Self.part, size: nil)
            : try store.stage(id: UploadID(high: 1, low: 2), size: nil, permissions: nil)
    }

    private func publication(
        _ staged: StagedFile, _ path: RelativePath, _ content: [UInt8], _ conflict: ConflictPolicy
    ) -> Publication {
        Publication(
            staged: staged, id: Self.part, path: path, size: UInt64(content.count),
            digest: content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) }, conflict: conflict)
    }
}

extension PathStore.Outcome {
    fileprivate init(_ results: [Result<PublicationOutcome, Failure>]) {
        switch results.first {
        case .success(.committed(let path, _)), .success(.restored(let path, _)), .success(.healed(let path, _)):
            self = .committed(path.string)
        case .success(.alreadyStored(let path, _)): self = .alreadyStored(path.string)
        case .success(.skipped): self = .skipped
        case .failure(let error): self = .failed(error.code)
        case nil: self = .skipped
        }
    }
}
