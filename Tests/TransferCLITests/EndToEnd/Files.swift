import Glibc
import TransferTestSupport

/// The photo of the documentation.
let photo: String = {
    // Tests/TransferCLITests/EndToEnd/Files.swift
    let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    return "/\(root)/docs/images/demo.png"
}()

/// Content in which no two pages are equal, made fast: one random page, repeated with a number in each copy.
func randomBytes(_ count: Int, seed: UInt64) -> [UInt8] {
    var generator = SplitMix64(seed: seed)
    let page = generator.bytes(min(count, 4_096))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
        let start = bytes.count
        bytes.append(contentsOf: page.prefix(count - start))
        withUnsafeBytes(of: start.littleEndian) { number in
            bytes.withUnsafeMutableBytes { bytes in
                UnsafeMutableRawBufferPointer(rebasing: bytes[start...].prefix(8)).copyBytes(
                    from: number.prefix(bytes.count - start))
            }
        }
    }
    return bytes
}

func readFile(_ path: String) throws -> [UInt8] {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw Program.Failure(description: "open \(path): errno \(errno)") }
    defer { close(number) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
        let count = read(number, &buffer, buffer.count)
        guard count >= 0 else { throw Program.Failure(description: "read \(path): errno \(errno)") }
        if count == 0 { return bytes }
        bytes += buffer[..<count]
    }
}

func writeFile(_ path: String, _ bytes: some Sequence<UInt8>) throws {
    let number = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard number >= 0 else { throw Program.Failure(description: "open \(path): errno \(errno)") }
    defer { close(number) }
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(number, $0.baseAddress, $0.count) }
        guard count > 0 else { throw Program.Failure(description: "write \(path): errno \(errno)") }
        rest = rest.dropFirst(count)
    }
}

func makeDirectory(_ path: String) throws {
    guard mkdir(path, 0o755) == 0 else { throw Program.Failure(description: "mkdir \(path): errno \(errno)") }
}

/// The paths of all files below a directory, relative to it and sorted.
func files(below directory: String) -> [String] {
    names(in: directory).flatMap { name in
        isDirectory("\(directory)/\(name)") ? files(below: "\(directory)/\(name)").map { "\(name)/\($0)" } : [name]
    }
    .sorted()
}
