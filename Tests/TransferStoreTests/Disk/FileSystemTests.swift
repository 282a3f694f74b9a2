import Testing

import TransferPorts
@testable import TransferStore

@Suite struct FileSystemTests {
    @Test(
        arguments: [
            ("5.17", true), ("5.17.0-rc1", true), ("5.16.20", false), ("5.4.0-150-generic", false),
            ("6.1.0-18-amd64", true),
            ("6.18.44+", true), ("4.19", false), ("10.0", true), ("5.100", true), ("", false), ("6", false),
            ("x.y", false),
        ])
    func kernels(_ release: String, isNewEnough: Bool) {
        #expect(FileSystem.isKernel(release, atLeast: (5, 17)) == isNewEnough)
    }

    /// No store is in /proc, but every machine has it, and its kind is unknown.
    @Test func aKindThatIsNotKnown() throws {
        let proc = try FileSystem(of: DirectoryHandle(path: "/proc", on: Disk()))
        #expect(proc == FileSystem(isMemory: false, syncsAsAWhole: false))
    }
}
