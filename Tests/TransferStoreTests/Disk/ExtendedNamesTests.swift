import CLinux
import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// If the kernel has a call for that, the store learns whether a file has extended attributes without opening the file.
@Suite struct ExtendedNamesTests {
    private static let kept = ExtraAttributes.Extended(name: Array("user.x".utf8), value: [1, 0, 2])

    private let temporary: TemporaryDirectory
    /// Whether the file system keeps extended attributes.
    private let keepsSome: Bool

    /// The file `with` has an attribute, the file `without` does not.
    init() throws {
        temporary = try TemporaryDirectory()
        for name in ["with", "without"] { try Files.write([1], to: temporary.path(name)) }
        let file = Descriptor(open(temporary.path("with"), O_RDWR | O_CLOEXEC))
        keepsSome = clinux_fsetxattr(file.number, "user.x", Self.kept.value, Self.kept.value.count) == 0
    }

    private static var kernelHasCall: Bool {
        clinux_listxattrat(AT_FDCWD, ".", nil, 0) >= 0 || errno != ENOSYS
    }

    private static func isDirectory(_ number: Int32) -> Bool {
        var status = stat()
        return fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    private func list(on disk: Disk) throws -> [String: [ExtraAttributes.Extended]?] {
        let directory = try DirectoryHandle(path: temporary.path, on: disk)
        let entries = try DirectoryListing(directory, at: nil).nextWhole(10)
        return Dictionary(uniqueKeysWithValues: entries.map { (String($0.path.name), $0.extra.extended) })
    }

    @Test func filesWithoutAnyAreNotOpened() throws {
        guard keepsSome, Self.kernelHasCall else { return }
        let opened = Locked<[String]>([])
        let disk = Disk(interception: { call, body in
            if case .open(_, let name, _) = call, name.hasPrefix("with") { opened.withLock { $0.append(name) } }
            return body()
        })
        #expect(try list(on: disk) == ["with": [Self.kept], "without": .some([])])
        #expect(opened.withLock { $0 } == ["with"])
    }

    /// If attributes cannot be read, a client that wants to keep attributes must not assume that there are no
    /// attributes.
    @Test(arguments: [(E2BIG, true), (EACCES, true), (EOPNOTSUPP, false)])
    func whatCannotBeToldIsSaidToBe(_ refusal: Int32, _ isPartial: Bool) throws {
        guard keepsSome else { return }
        let disk = Disk(interception: { call, body in
            guard case .examine(let number) = call, !Self.isDirectory(number) else { return body() }
            return -Int(refusal)
        })
        let directory = try DirectoryHandle(path: temporary.path, on: disk)
        let entries = try DirectoryListing(directory, at: nil).nextWhole(10)
        let with = try #require(entries.first { $0.path.string == "with" })
        #expect(with.isPartial == isPartial && with.extra.extended == nil)
    }

    /// A kernel without the call is asked only once; after any other error the files are opened.
    @Test(arguments: [(ENOSYS, 1), (EIO, 2)])
    func whereTheKernelCannotTellFilesAreOpened(_ refusal: Int32, _ times: Int) throws {
        guard keepsSome else { return }
        let asked = Locked(0)
        let disk = Disk(interception: { call, body in
            guard case .examine(let number) = call, Self.isDirectory(number) else { return body() }
            asked.withLock { $0 += 1 }
            return -Int(refusal)
        })
        #expect(try list(on: disk) == ["with": [Self.kept], "without": .some([])])
        #expect(asked.withLock { $0 } == times)
    }
}
