import Glibc
import Testing
import TransferKeys
import TransferTestSupport

@testable import TransferReceipts

@Suite struct ServerIdentityFileTests {
    private let folder: TemporaryDirectory
    private var path: String { folder.path("identity.pem") }

    init() throws {
        folder = try TemporaryDirectory()
    }

    @Test func isMadeOnceForItsOwnerAlone() throws {
        let (identity, isNew) = try ServerIdentity.open(in: folder.path)
        #expect(isNew)
        var status = stat()
        #expect(lstat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(access(folder.path("identity.pem.new"), F_OK) != 0)
        let (again, isNewAgain) = try ServerIdentity.open(in: folder.path)
        #expect(!isNewAgain && again.key == identity.key)
    }

    /// A file as `openssl genpkey -algorithm ed25519` writes it.
    @Test func readsWhatOpenSSLWrites() throws {
        try write(
            "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                + "-----END PRIVATE KEY-----\n")
        #expect(try ServerIdentity.open(in: folder.path).identity.key == Sample.key)
    }

    @Test func whatWasLeftHalfMadeIsInNobodysWay() throws {
        try write("-----BEGIN", to: "identity.pem.new")
        #expect(try ServerIdentity.open(in: folder.path).isNew)
        #expect(try !ServerIdentity.open(in: folder.path).isNew)
    }

    @Test(arguments: [0o640, 0o604, 0o620, 0o666] as [mode_t]) func othersMustNotReadIt(_ mode: mode_t) throws {
        _ = try ServerIdentity.open(in: folder.path)
        chmod(path, mode)
        let fault = #expect(throws: ServerIdentity.Fault.self) { try ServerIdentity.open(in: folder.path) }
        #expect(fault?.message.contains("chmod 600") ?? false)
    }

    @Test(arguments: ["", "x", "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1h\n-----END PRIVATE KEY-----\n"])
    func aDamagedOneIsNeverReplaced(_ content: String) throws {
        try write(content)
        let fault = #expect(throws: ServerIdentity.Fault.self) { try ServerIdentity.open(in: folder.path) }
        #expect(fault?.message.contains("backup") ?? false)
        #expect(try read() == content)
    }

    @Test func everyCutIsNoticed() throws {
        let identity = try ServerIdentity.open(in: folder.path).identity
        let whole = try read()
        // The last character is the end of a line.
        for count in 0..<whole.utf8.count - 1 {
            try write(String(decoding: whole.utf8.prefix(count), as: UTF8.self))
            #expect(throws: ServerIdentity.Fault.self) { try ServerIdentity.open(in: folder.path) }
        }
        try write(whole)
        #expect(try ServerIdentity.open(in: folder.path).identity.key == identity.key)
    }

    @Test func aLinkIsNotFollowed() throws {
        symlink("/dev/null", path)
        #expect(throws: ServerIdentity.Fault.self) { try ServerIdentity.open(in: folder.path) }
    }

    @Test func aFolderThatIsNotThereIsAFault() {
        #expect(throws: ServerIdentity.Fault.self) { try ServerIdentity.open(in: folder.path("nowhere")) }
    }

    private func write(_ text: String, to name: String = "identity.pem") throws {
        let file = try #require(fopen(folder.path(name), "w"))
        fputs(text, file)
        fclose(file)
        chmod(folder.path(name), 0o600)
    }

    private func read() throws -> String {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = fread(&buffer, 1, buffer.count, file)
        return String(decoding: buffer[..<count], as: UTF8.self)
    }
}
