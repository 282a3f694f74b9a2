import Glibc
package import TransferSystem

/// The processes beside a server that decode pictures. Both run the server's own program.
package enum GalleryProcess {
    /// Runs this process as a helper or a decoder, if it was started as one. To be called before any other thread starts.
    ///
    /// - Returns: the exit code; nil in any other process.
    package static func run() -> Int32? {
        if let text = value(of: PictureDecoder.variable) {
            guard let decoder = PictureDecoder(text) else { return EXIT_FAILURE }
            return decoder.run()
        }
        guard value(of: DecoderHelper.variable) != nil else { return nil }
        var helper = DecoderHelper(openChannel(), environment: libraries)
        helper.serve()
        return EXIT_SUCCESS
    }

    /// Starts a helper. A process that confines itself calls this before.
    ///
    /// - Returns: the channel to the helper, which ends when the channel is closed.
    package static func startHelper() throws(SystemError) -> DescriptorChannel {
        let (own, other) = try DescriptorChannel.pair()
        _ = try ChildProcess(
            running: [ChildProcess.program, "pictures"], environment: libraries + ["\(DecoderHelper.variable)=1"],
            descriptors: [other.number])
        return own
    }

    /// Where a program looks for libraries that are not installed, as on the machine of a developer. Nothing else of the environment is
    /// passed on, because it may have secrets.
    private static var libraries: [String] {
        value(of: "LD_LIBRARY_PATH").map { ["LD_LIBRARY_PATH=\($0)"] } ?? []
    }

    private static func value(of variable: String) -> String? { getenv(variable).map { String(cString: $0) } }

    /// The helper's end of the channel, which is descriptor 0. Everything else is closed.
    private static func openChannel() -> DescriptorChannel {
        let number = dup(0)
        // Descriptors 0 to 2 are open, so that no other file gets their numbers.
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        for place in Int32(0)...2 { dup2(null, place) }
        closeOthers(but: number)
        return DescriptorChannel(Descriptor(number))
    }

    private static func closeOthers(but number: Int32) {
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        for other in Int32(3)..<max(3, number) { close(other) }
        closeDescriptors(from: number + 1)
    }
}
