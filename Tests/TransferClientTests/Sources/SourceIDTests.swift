import CLinux
import Glibc
import Testing
import TransferModel

@testable import TransferClient

@Suite struct SourceIDTests {
    private static func identity(size: Int = 10, seconds: Int = 5, nanoseconds: Int = 6) -> SourceFile.Identity {
        var status = stat()
        status.st_size = size
        status.st_mtim = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
        return SourceFile.Identity(status)
    }

    private static func id(
        _ path: String = "/a", _ destination: String = "b", _ file: SourceFile.Identity = identity(),
        _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) -> UploadID {
        var configuration = ClientConfiguration.patient
        change(&configuration)
        return SourceID(configuration).id(path: path, destination: destination, file: file)
    }

    /// The next push of an unchanged file derives the same ID.
    @Test func theSameIsTheSame() {
        #expect(Self.id() == Self.id())
        #expect(Self.id() == Self.id("/a", "b", Self.identity()) { $0.lanes = .fixed(1) })
    }

    @Test func everythingElseIsAnother() {
        let ids = [
            Self.id(), Self.id("/ab", ""), Self.id("/", "ab"), Self.id("/a", "c"),
            Self.id("/a", "b", Self.identity(size: 11)), Self.id("/a", "b", Self.identity(seconds: 6)),
            Self.id("/a", "b", Self.identity(nanoseconds: 7)), Self.id { $0.digest = .sha256 },
            Self.id { $0.conflict = .overwrite },
        ]
        #expect(Set(ids).count == ids.count)
        #expect(!ids.contains(.none))
    }

    @Test(arguments: [
        ("/a/b", "/a/b"), ("/a//b/", "/a/b"), ("/./a/./b", "/a/b"), ("/a/../b", "/a/../b"), ("/", ""),
        ("/.a/..b", "/.a/..b"),
        ("/a\u{301}/b", "/a\u{301}/b"),
    ])
    func absolutePaths(_ path: String, _ expected: String) {
        #expect(path.absolutePath == expected)
    }

    @Test func relativePathsStartWhereTheProcessIs() {
        let here = "x".absolutePath
        #expect(here.hasSuffix("/x"))
        #expect("./x".absolutePath == here)
        #expect(here.absolutePath == here)
    }
}
