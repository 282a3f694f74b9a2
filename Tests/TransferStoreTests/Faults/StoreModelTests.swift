import Testing
import TransferModel
import TransferPorts
import TransferStoreTestSupport
import TransferTestSupport

/// Random publications are compared with the rules of the protocol, applied to a dictionary: each store returns what
/// the model returns.
@Suite struct StoreModelTests {
    /// Names and the contents of their files.
    struct Model {
        enum Outcome: Equatable {
            case committed(String)
            case alreadyStored(String)
            case skipped
            case refused(ResultCode)
        }

        var files: [String: [UInt8]] = [:]
        /// All directories, also empty ones.
        var directories: Set<String> = []

        /// Paths in the form of `ModeledStore.visible`.
        var tree: Set<String> { Set(files.keys).union(directories.map { $0 + "/" }) }

        private func isDirectory(_ path: String) -> Bool { directories.contains(path) }

        /// Makes the directories of a path until a file is in the way.
        private mutating func makeDirectories(_ path: String) -> Bool {
            let parts = path.split(separator: "/").dropLast()
            for count in parts.indices.map({ $0 + 1 }) {
                let directory = parts.prefix(count).joined(separator: "/")
                if files[directory] != nil { return false }
                directories.insert(directory)
            }
            return true
        }

        private func isBelowAFile(_ path: String) -> Bool { files.keys.contains { path.hasPrefix($0 + "/") } }

        /// The numbered name for a name that has at most one dot, which is not the first character.
        private func numbered(_ path: String, _ number: Int) -> String {
            let parts = path.split(separator: ".", omittingEmptySubsequences: false)
            return parts.count == 1 ? "\(path)-\(number)" : "\(parts[0])-\(number).\(parts[1])"
        }

        mutating func publish(_ path: String, _ content: [UInt8], _ policy: ConflictPolicy) -> Outcome {
            guard makeDirectories(path) else { return .refused(.pathConflict) }
            var name = path
            var number = 0
            while files[name] != nil || isDirectory(name) {
                if files[name] == content { return .alreadyStored(name) }
                switch policy {
                case .skip: return .skipped
                case .fail: return .refused(.pathConflict)
                case .overwrite where isDirectory(name): return .refused(.pathConflict)
                case .overwrite:
                    files[name] = content
                    return .committed(name)
                case .keepBoth:
                    number += 1
                    name = numbered(path, number)
                }
            }
            files[name] = content
            return .committed(name)
        }

        /// - Returns: nil if the upload is not refused yet.
        func admit(_ path: String, _ size: Int?, _ policy: ConflictPolicy) -> Outcome? {
            if isBelowAFile(path) { return .refused(.pathConflict) }
            guard files[path] != nil || isDirectory(path) else { return nil }
            switch policy {
            case .skip: return .skipped
            case .keepBoth: return nil
            case .overwrite: return isDirectory(path) ? .refused(.pathConflict) : nil
            case .fail:
                let isOther = size != nil && files[path]?.count != size
                return isDirectory(path) || isOther ? .refused(.pathConflict) : nil
            }
        }
    }

    private func outcome(_ result: Result<PublicationOutcome, Failure>) -> Model.Outcome {
        switch result {
        case .success(.committed(let path, _)), .success(.healed(let path, _)),
            .success(.restored(let path, _)):
            .committed(path.string)
        case .success(.alreadyStored(let path, _)): .alreadyStored(path.string)
        case .success(.skipped): .skipped
        case .failure(let error): .refused(error.code)
        }
    }

    fileprivate static let paths = ["a", "a.b", "d/a", "d/a.b", "d", "d/e/f.g", "d/e", "夏.jpg", "a/x", "a-1"]

    fileprivate static let policies: [ConflictPolicy] = [.keepBoth, .keepBoth, .overwrite, .skip, .fail]

    /// Makes the same changes to the store and to the model.
    private struct Run<Modeled: ModeledStore> {
        let modeled: Modeled
        let context: String
        var random: SplitMix64
        var model = Model()

        private mutating func content() -> [UInt8] {
            let byte = UInt8.random(in: 1...4, using: &random)
            return [UInt8](repeating: byte, count: .random(in: 0...2, using: &random))
        }

        private mutating func path() -> String { StoreModelTests.paths.randomElement(using: &random) ?? "a" }

        private mutating func policy() -> ConflictPolicy {
            StoreModelTests.policies.randomElement(using: &random) ?? .keepBoth
        }

        mutating func step(_ outcome: (Result<PublicationOutcome, Failure>) -> Model.Outcome) throws {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<6: try publish(outcome)
            case 6: try remove()
            case 7: try write()
            default: try admit(outcome)
            }
            #expect(modeled.visible == model.tree, "\(context)")
            #expect(modeled.unfinished == 0, "\(context)")
        }

        private mutating func publish(_ outcome: (Result<PublicationOutcome, Failure>) -> Model.Outcome) throws {
            var batch: [Publication] = []
            var expected: [Model.Outcome] = []
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let (path, policy, content) = (path(), policy(), content())
                let asPart = Bool.random(using: &random)
                batch.append(try modeled.store.publication(path, content, policy, asPart: asPart))
                expected.append(model.publish(path, content, policy))
            }
            let published = modeled.store.publish(batch, acknowledged: { _, _ in nil }, mayReplace: nil)
            try published.settlement?.commit([], with: nil)
            #expect(published.outcomes.map(outcome) == expected, "\(context)")
        }

        /// Another process removes a file; directories stay until they are empty, and sometimes longer.
        private mutating func remove() throws {
            if let directory = model.directories.sorted().randomElement(using: &random),
                model.tree.allSatisfy({ !$0.hasPrefix(directory + "/") || $0 == directory + "/" })
            {
                try modeled.remove(directory)
                model.directories.remove(directory)
            }
            guard let path = model.files.keys.sorted().randomElement(using: &random) else { return }
            try modeled.remove(path)
            model.files[path] = nil
        }

        private mutating func write() throws {
            guard let path = model.files.keys.sorted().randomElement(using: &random) else { return }
            let content = content()
            try modeled.write(content, over: path)
            model.files[path] = content
        }

        private mutating func admit(_ outcome: (Result<PublicationOutcome, Failure>) -> Model.Outcome) throws {
            let (path, policy) = (path(), policy())
            let size = Bool.random(using: &random) ? Int.random(in: 0...2, using: &random) : nil
            let admitted = Result { () throws(any Error) in
                try modeled.store.admit(try RelativePath(path), size: size.map { UInt64($0) }, conflict: policy)
            }
            let expected = model.admit(path, size, policy)
            switch admitted {
            case .success(nil) where modeled.admitsUnseen && size != nil && policy != .skip: break
            case .success(let published):
                #expect(published.map { outcome(.success($0)) } == expected, "\(context), \(path), \(policy)")
            case .failure(let error as Failure):
                #expect(.refused(error.code) == expected, "\(context), \(path), \(policy)")
            case .failure(let error): throw error
            }
        }
    }

    /// All seeds together take seconds; the directory is in memory, but the store treats it as one on a disk.
    private static let seeds = 300

    enum Kind: CaseIterable { case directory, memory, cluster }

    @Test(arguments: Kind.allCases) func random(_ kind: Kind) throws {
        for seed in Seeds.some(Self.seeds) {
            switch kind {
            case .directory: try run(StoreFixture.modeled(seed: seed), seed: seed)
            case .memory: try run(ModeledMemory(), seed: seed)
            case .cluster: try run(ModeledCluster(), seed: seed)
            }
        }
    }

    private func run(_ modeled: some ModeledStore, seed: UInt64) throws {
        var run = Run(modeled: modeled, context: "seed \(seed)", random: SplitMix64(seed: seed))
        for _ in 0..<20 { try run.step(outcome) }
        #expect(modeled.faults == [], "seed \(seed)")
        for (name, content) in run.model.files {
            #expect(modeled.content(name) == content, "seed \(seed), \(name)")
        }
    }
}
