import Testing
import TransferTestSupport

@testable import TransferClient

@Suite struct IgnoreFileTests {
    @Test(arguments: [
        ("*.o", "a.o", false, true), ("*.o", "d/a.o", false, true), ("*.o", "a.c", false, nil),
        ("build/", "build", true, true), ("build/", "build", false, nil), ("build/", "d/build", true, true),
        ("/build", "build", true, true), ("/build", "d/build", true, nil), ("d/*.o", "d/a.o", false, true),
        ("d/*.o", "x/d/a.o", false, nil), ("**/d/*.o", "x/d/a.o", false, true),
        ("*.o\n!keep.o", "keep.o", false, false),
        ("!keep.o\n*.o", "keep.o", false, true), ("# a.o", "# a.o", false, nil), ("\\#a", "#a", false, true),
        ("\\!a", "!a", false, true), ("a  ", "a", false, true), ("a\\ ", "a ", false, true),
        ("a\\\\ ", "a\\", false, true),
        ("a\r\nb\r\n", "b", false, true), ("", "a", false, nil), ("\n \n!\n/\n", "a", false, nil),
        ("a/\u{301}b", "a/\u{301}b", false, true),
    ])
    func lines(_ text: String, _ path: String, _ isDirectory: Bool, _ verdict: Bool?) {
        #expect(IgnoreFile(text).ignores(path, isDirectory: isDirectory) == verdict)
    }

    @Test func files() throws {
        let directory = try TemporaryDirectory()
        let (path, opened) = (directory.path("ignore"), try SourceDirectory(directory.path))
        try Files.write(path, "a\n")
        #expect(try IgnoreFile("ignore", in: opened).ignores("a", isDirectory: false) == true)
        for (bytes, message) in [
            ([0xFF], "is not UTF-8"),
            ([UInt8](repeating: 10, count: IgnoreFile.longest + 1), "has more than 1048576 bytes"),
        ] {
            try Files.write(path, bytes)
            do throws(IgnoreFile.Fault) {
                _ = try IgnoreFile("ignore", in: opened)
                Issue.record("it was read")
            } catch {
                #expect(error.message == message)
            }
        }
    }
}
