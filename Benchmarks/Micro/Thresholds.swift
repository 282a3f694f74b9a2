import Glibc

/// The allowed numbers of heap allocations for an upload, from a file in the repository with one line for each figure,
/// its value first.
struct Thresholds {
    static let unit = "allocations/upload"

    /// Fraction by which a figure may exceed its threshold. Counts of two runs differ by less.
    private static let tolerance = 0.05

    /// Largest effect of rounding the thresholds to two decimals.
    private static let rounding = 0.005

    private var limits: [String: Double] = [:]

    init(_ figures: [Figure]) {
        for figure in figures { limits[figure.name] = figure.value }
    }

    /// Reads a file written by `write`.
    init(path: String) throws {
        guard let stream = fopen(path, "r") else {
            throw BenchmarkFailure("Cannot read \(path); make bench-micro UPDATE=1 writes it.")
        }
        defer { fclose(stream) }
        var buffer = [CChar](repeating: 0, count: 256)
        while fgets(&buffer, Int32(buffer.count), stream) != nil {
            let line = String(
                decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
            guard parts.count == 2, let value = Double(parts[0]) else {
                throw BenchmarkFailure("\(path) has a line that is not a number and a name: \(line)")
            }
            limits[String(parts[1])] = value
        }
    }

    func write(to path: String) throws {
        guard let stream = fopen(path, "w") else { throw BenchmarkFailure("Cannot write \(path).") }
        defer { fclose(stream) }
        for (name, value) in limits.sorted(by: { $0.key < $1.key }) {
            fputs("\(value.rounded(toPlaces: 2)) \(name)\n", stream)
        }
    }

    /// - Throws: if a figure exceeds its threshold or has none.
    func check(_ figures: [Figure]) throws {
        let excess = figures.compactMap { figure -> String? in
            guard let limit = limits[figure.name] else { return "\(figure.name): there is no threshold." }
            guard figure.value > limit * (1 + Self.tolerance) + Self.rounding else { return nil }
            return "\(figure.name): \(figure.value.rounded(toPlaces: 2)) allocations, the threshold is \(limit)."
        }
        guard excess.isEmpty else {
            throw BenchmarkFailure("Too many allocations.\n  " + excess.joined(separator: "\n  "))
        }
    }
}
